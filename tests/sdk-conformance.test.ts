import { join } from 'node:path'
import type { Rung, SandboxId } from '@hearth/contract'
import { describeDriver, type Survivor } from '@hearth/testing'
import { afterAll, describe, expect, test } from 'vitest'
import { ApiProcess } from './support/api-process.ts'

/** Rungs that differ for a client; the others run the same code over the same link. `HEARTH_RUNGS` chooses others. */
const RUNGS: readonly string[] = process.env['HEARTH_RUNGS']?.split(',') ?? ['process', 'container', 'gvisor']

/**
 * Volume over HTTP is the same code whatever is behind it: once is enough, on the first rung. Without the server every rung has these tests, in
 * `conformance.test.ts`.
 */
const VOLUME = [
  '100 MB in and out, with checksums',
  'many at once, of sizes around the steps of writing',
  'many floods that nobody reads take bounded memory on the host',
  'a detached flood takes bounded memory in the sandbox',
  'a flood until the timeout',
  'ten streams share fairly',
] as const

// Sandboxes here come from the pool wherever one waits; those of `conformance.test.ts` never do.
const server = await ApiProcess.start({ pool: true })
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
    skip: rung === RUNGS[0] ? [] : VOLUME.map((name) => ({ test: name, reason: `runs on ${RUNGS[0]}` })),
    ...(capabilities.reconnect ? { survivor: survivorOf(rung) } : {}),
  })
}

describe('the pool', () => {
  test('had a machine for many of them', async () => {
    const { claimed, shapes } = await hearth.pool.get()
    expect(claimed).toBeGreaterThan(10)
    expect(shapes.map(({ problem }) => problem).filter((problem) => problem !== null)).toEqual([])
  })
})

afterAll(async () => await server[Symbol.asyncDispose](), 120_000)
