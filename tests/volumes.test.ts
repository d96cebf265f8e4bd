import { Hearth } from '@hearth/engine'
import { describeVolumes } from '@hearth/testing'
import { afterAll, describe, test } from 'vitest'
import { ladder, templateFor } from './support/ladder.ts'

const hearth = new Hearth()

for (const { rung, probe } of await ladder(hearth)) {
  if (!probe.available || !probe.capabilities.volumes) {
    describe(rung, () => {
      test('has volumes', (context) => context.skip(probe.available ? 'it has no volumes' : probe.reason))
    })
    continue
  }
  const template = templateFor(probe)
  describeVolumes({
    name: `${rung} (${probe.label})`,
    create: async (spec = {}) => await hearth.create(spec.from === undefined ? { rung, template, ...spec } : spec),
    capabilities: probe.capabilities,
    volumes: hearth.volumes,
    wake: async (id) => await hearth.wake(id),
    removeSnapshot: async (snapshot) => await hearth.snapshots.remove(snapshot),
  })
}

afterAll(async () => await hearth.dispose(), 120_000)
