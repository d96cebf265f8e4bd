import { expect } from 'vitest'
import type { Sandbox } from '@hearth/contract'
import { text } from '../support/expectations.ts'
import type { Suite } from '../support/suite.ts'

/** Two loops that are busy for a second of wall time; prints how much they did together. */
const WORK = `
import os, time
reader, writer = os.pipe()
for _ in range(2):
    if os.fork() == 0:
        end = time.monotonic() + 1.0
        count = 0
        while time.monotonic() < end:
            for _ in range(1000): pass
            count += 1
        os.write(writer, (str(count) + "\\n").encode())
        os._exit(0)
os.wait(); os.wait()
os.close(writer)
print(sum(map(int, os.read(reader, 1000).split())))
`

async function work(sandbox: Sandbox): Promise<number> {
  return Number(text(await sandbox.exec(['python3', '-c', WORK])))
}

export function describeCpuLimit(suite: Suite): void {
  suite.plain(
    'half a core does half the work of one',
    { needs: ['processes', 'limits.cpus'], timeoutMs: 90_000 },
    async () => {
      await using half = await suite.options.create({ limits: { cpus: 0.5 } })
      await using whole = await suite.options.create({ limits: { cpus: 1 } })
      const ratios: number[] = []
      await work(half)
      await work(whole)
      // In turn, so that what else runs on the host weighs on both.
      for (let round = 0; round < 3; round++) ratios.push((await work(half)) / (await work(whole)))
      const median = ratios.toSorted((a, b) => a - b)[1]
      expect(median).toBeGreaterThan(0.25)
      expect(median).toBeLessThan(0.8)
    },
  )
}
