import { join } from 'node:path'
import type { Rung, SandboxId } from '@hearth/contract'
import { describeDriver, type Survivor } from '@hearth/testing'
import { afterAll, describe, test } from 'vitest'
import { ApiProcess } from './support/api-process.ts'

/** Rungs that differ for a client; the others run the same code over the same link. `HEARTH_RUNGS` chooses others. */
const RUNGS: readonly string[] = process.env['HEARTH_RUNGS']?.split(',') ?? ['process', 'container', 'gvisor']

const server = await ApiProcess.start()
const hearth = server.client()
const reports = await server.client({ timeoutMs: 180_000 }).rungs()

/** Another client of the same server, to be killed in the middle. */
function survivorOf(rung: Rung): Survivor {
  const program = join(import.meta.dirname, 'support/remote-survivor.ts')
  return {
    argv: (command, readBytes) => [process.execPath, program, rung, command, String(readBytes)],
    environment: server.environment,
    adopt: async (id: SandboxId) => await hearth.get(id),
  }
}

for (const rung of RUNGS as readonly Rung[]) {
  const ofRung = reports.filter((report) => report.rung === rung)
  const report = ofRung.find(({ probe }) => probe.available) ?? ofRung[0]
  if (report === undefined || !report.probe.available) {
    const reason = report === undefined || report.probe.available ? 'no driver' : report.probe.reason
    describe(rung, () => {
      test('is available', (context) => context.skip(reason))
    })
    continue
  }
  const { capabilities, label } = report.probe
  describeDriver({
    name: `${rung} over HTTP (${label})`,
    create: async (spec) => await hearth.create({ rung, template: 'host', ...spec }),
    capabilities,
    ...(capabilities.reconnect ? { survivor: survivorOf(rung) } : {}),
  })
}

afterAll(async () => await server[Symbol.asyncDispose](), 120_000)
