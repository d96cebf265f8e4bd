import { expect } from 'vitest'
import { eventually, output, scratch, text } from '../support/expectations.ts'
import type { Suite } from '../support/suite.ts'

const MiB = 1024 * 1024

export function describeStats(suite: Suite): void {
  suite.test('statistics are plausible', {}, async (sandbox) => {
    const stats = await sandbox.stats()
    expect(stats.memoryLimitBytes).toBe(sandbox.info.limits.memoryBytes)
    expect(stats.memoryBytes).toBeLessThan(stats.memoryLimitBytes)
    expect(stats.uptimeMs).toBeGreaterThan(0)
    expect(stats.uptimeMs).toBeLessThan(3_600_000)
    expect(stats.diskUsedBytes).toBeLessThan(stats.diskLimitBytes)
    for (const value of Object.values(stats)) expect(value).toBeGreaterThanOrEqual(0)
  })

  suite.test(
    'memory and processes are seen',
    { needs: ['processes', 'limits.memoryBytes'], timeoutMs: 60_000 },
    async (sandbox) => {
      const before = await sandbox.stats()
      const program =
        'block = bytearray(80 << 20)\nblock[::4096] = b"x" * len(block[::4096])\nprint("ready", flush=True)\ninput()'
      await using hog = await sandbox.spawn(['python3', '-c', program], { stdin: 'pipe' })
      for await (const chunk of hog.output) {
        expect(Buffer.from(chunk.data).toString()).toContain('ready')
        break
      }
      const during = await sandbox.stats()
      expect(during.memoryBytes - before.memoryBytes).toBeGreaterThan(50 * MiB)
      expect(during.processes).toBeGreaterThan(before.processes)
      await hog.kill()
    },
  )

  // In one of its own: the time of what other tests have left running goes away with it.
  suite.own('processor time is counted', { needs: ['processes'] }, async (sandbox) => {
    const before = await sandbox.stats()
    text(await sandbox.exec(['python3', '-c', 'import time\nwhile time.process_time() < 0.4: pass']))
    const after = await sandbox.stats()
    expect(after.cpuMs - before.cpuMs).toBeGreaterThan(200)
    expect(after.uptimeMs - before.uptimeMs).toBeGreaterThan(300)
  })

  // The same: what other tests have removed may be given back only now, and would hide what is added.
  suite.own('disk use is counted', { needs: ['processes', 'limits.diskBytes'] }, async (sandbox) => {
    const path = scratch('counted')
    const before = await sandbox.stats()
    await sandbox.files.write(path, Buffer.alloc(20 * MiB, 1))
    await output(sandbox, 'sync')
    // What is counted by the host's file system is counted when it writes.
    const isCounted = async (): Promise<boolean> =>
      (await sandbox.stats()).diskUsedBytes - before.diskUsedBytes > 15 * MiB
    await eventually('the file is counted', isCounted)
    const after = await sandbox.stats()
    expect(after.diskLimitBytes).toBeLessThanOrEqual(sandbox.info.limits.diskBytes * 1.1)
    await sandbox.files.remove(path)
  })
}
