import { Hearth } from '@hearth/engine'
import { describeFork, type SuiteSkip } from '@hearth/testing'
import type { Rung } from '@hearth/contract'
import { afterAll, describe, test } from 'vitest'
import { ladder, templateFor } from './support/ladder.ts'

/** What a rung cannot do although no capability says so. */
const SKIPS: Partial<Record<Rung, readonly SuiteSkip[]>> = {}

const hearth = new Hearth()
const steps = await ladder(hearth)

for (const { rung, probe } of steps) {
  const reason = probe.available ? `${probe.label} has no snapshots` : probe.reason
  if (!probe.available || !probe.capabilities.snapshots) {
    describe(rung, () => {
      test('has snapshots', (context) => context.skip(reason))
    })
    continue
  }
  const template = templateFor(probe)
  describeFork({
    name: `${rung} (${probe.label})`,
    skip: SKIPS[rung] ?? [],
    create: async (spec = {}) => await hearth.create(spec.from === undefined ? { rung, template, ...spec } : spec),
    capabilities: probe.capabilities,
    pythonTemplate: template === 'host' ? 'host' : 'code-interpreter',
    list: async () => await hearth.list(),
    snapshots: hearth.snapshots,
  })
}

afterAll(async () => await hearth.dispose(), 120_000)
