import type { Rung } from '@hearth/contract'
import { Hearth } from '@hearth/engine'
import { describeDriver, type SuiteSkip } from '@hearth/testing'
import { afterAll, describe, test } from 'vitest'
import { createOn, ladder, survivorOf, templateFor } from './support/ladder.ts'

/** What a rung cannot do although no capability says so. */
const SKIPS: Partial<Record<Rung, readonly SuiteSkip[]>> = {
  simulated: [{ test: 'bash keeps its state', reason: 'no interpreter can be talked to: input is taken as a whole' }],
}

const hearth = new Hearth()
const steps = await ladder(hearth)
for (const step of steps) if (step.probe.available) await hearth.templates.resolve(templateFor(step.probe), {})

for (const step of steps) {
  if (!step.probe.available) {
    const { reason } = step.probe
    describe(step.rung, () => {
      test('is available', (context) => context.skip(reason))
    })
    continue
  }
  describeDriver({
    name: `${step.rung} (${step.probe.label})`,
    skip: SKIPS[step.rung] ?? [],
    create: async (spec) => await createOn(hearth, step, spec),
    capabilities: step.probe.capabilities,
    ...(step.probe.capabilities.reconnect ? { survivor: survivorOf(hearth, step) } : {}),
  })
}

afterAll(async () => await hearth.dispose(), 120_000)
