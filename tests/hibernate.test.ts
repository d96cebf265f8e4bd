import { Hearth } from '@hearth/engine'
import { describeHibernation } from '@hearth/testing'
import { afterAll, describe, test } from 'vitest'
import { ladder, templateFor } from './support/ladder.ts'

const hearth = new Hearth()

for (const { rung, probe } of await ladder(hearth)) {
  if (!probe.available || !probe.capabilities.snapshots) {
    describe(rung, () => {
      test('can hibernate', (context) => context.skip(probe.available ? 'it has no snapshots' : probe.reason))
    })
    continue
  }
  const template = templateFor(probe) === 'host' ? 'host' : 'code-interpreter'
  describeHibernation({
    name: `${rung} (${probe.label})`,
    create: async (spec = {}) => await hearth.create({ rung, template, ...spec }),
    capabilities: probe.capabilities,
    wake: async (id) => await hearth.wake(id),
    list: async () => await hearth.list(),
  })
}

afterAll(async () => await hearth.dispose(), 120_000)
