import type { SandboxInfo } from '@hearth/contract'
import { describeFork } from '@hearth/testing'
import { afterAll, describe, test } from 'vitest'
import { ApiProcess } from './support/api-process.ts'

/** What a client sees of forks is the same code on every rung: once is enough. `fork.test.ts` has them all, without the server. */
const RUNG = 'process'

const server = await ApiProcess.start()
const hearth = server.client()
const reports = await server.client({ timeoutMs: 180_000 }).rungs()
const report = reports.find(({ rung, probe }) => rung === RUNG && probe.available)

if (report?.probe.available === true) {
  describeFork({
    name: `${RUNG} over HTTP (${report.probe.label})`,
    create: async (spec = {}) =>
      await hearth.create(spec.from === undefined ? { rung: RUNG, template: 'host', ...spec } : spec),
    capabilities: { ...report.probe.capabilities, memory: false },
    pythonTemplate: 'host',
    list: async () => {
      const infos: SandboxInfo[] = []
      for await (const { id } of hearth.list()) infos.push((await hearth.get(id)).info)
      return infos
    },
    snapshots: hearth.snapshots,
  })
} else {
  describe(RUNG, () => {
    test('is available', (context) => context.skip('it does not run here'))
  })
}

afterAll(async () => await server[Symbol.asyncDispose](), 120_000)
