import { Hearth } from '@hearth/engine'
import { describeVolumes } from '@hearth/testing'
import { afterAll, describe, test } from 'vitest'
import { ladder, templateFor } from './support/ladder.ts'

const hearth = new Hearth()
/** What gVisor does otherwise, of itself. */
const GVISOR = [
  {
    test: 'sockets, holes, extended attributes and names that change places',
    reason: 'its files have a link too many and no holes, and take no extended attributes',
  },
  {
    test: 'nothing is written twice for a capture',
    reason: 'a write that its checkpoint meets is now and then made again',
  },
]

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
    pythonTemplate: template,
    skip: rung === 'gvisor' ? GVISOR : [],
    volumes: hearth.volumes,
    wake: async (id) => await hearth.wake(id),
    removeSnapshot: async (snapshot) => await hearth.snapshots.remove(snapshot),
  })
}

afterAll(async () => await hearth.dispose(), 120_000)
