import { expect } from 'vitest'
import { output, sleep } from '../support/expectations.ts'
import type { Suite } from '../support/suite.ts'

const MiB = 1024 * 1024
const FLOOD = { needs: ['processes'], timeoutMs: 60_000 } as const

/** Garbage that was not collected yet counts too, hence the room in the bounds; a flood is gigabytes. Highest resident size above the start while `body` runs. */
async function growthDuring(body: () => Promise<unknown>): Promise<number> {
  const start = process.memoryUsage().rss
  let highest = start
  const timer = setInterval(() => {
    highest = Math.max(highest, process.memoryUsage().rss)
  }, 20)
  await body().finally(() => clearInterval(timer))
  return highest - start
}

export function describeFlood(suite: Suite): void {
  suite.own(
    'an output flood takes bounded memory on the host',
    { ...FLOOD, spec: { limits: { outputBytes: MiB } } },
    async (sandbox) => {
      const growth = await growthDuring(async () => {
        const result = await sandbox.exec('yes "a long line of text that fills the pipe" & exec yes error >&2', {
          timeoutMs: 3000,
        })
        expect(result).toMatchObject({ timedOut: true, truncated: true })
        expect(result.stdoutBytes.length + result.stderrBytes.length).toBe(MiB)
        expect(result.totalOutputBytes).toBeGreaterThan(4 * MiB)
      })
      expect(growth / MiB).toBeLessThan(200)
      expect(await output(sandbox, 'echo usable')).toBe('usable')
    },
  )

  suite.test('many floods that nobody reads take bounded memory on the host', FLOOD, async (sandbox) => {
    const growth = await growthDuring(async () => {
      const floods = await Promise.all(Array.from({ length: 20 }, async () => await sandbox.spawn('yes')))
      await sleep(1000)
      await Promise.all(floods.map(async (flood) => await flood.kill()))
    })
    expect(growth / MiB).toBeLessThan(200)
    expect(await output(sandbox, 'echo usable')).toBe('usable')
  })

  suite.test('a detached flood takes bounded memory in the sandbox', FLOOD, async (sandbox) => {
    const flood = await sandbox.spawn('yes')
    await flood.detach()
    await sleep(500)
    const before = (await sandbox.stats()).memoryBytes
    await sleep(1000)
    expect((await sandbox.stats()).memoryBytes - before).toBeLessThan(64 * MiB)
    await using again = await sandbox.attach(flood.id, { offset: Number.MAX_SAFE_INTEGER })
    await again.kill()
    expect(await output(sandbox, 'echo usable')).toBe('usable')
  })
}
