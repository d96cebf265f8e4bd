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

interface Share {
  readonly done: number
  /** Processor time per wall time, as the sandbox itself counts it. */
  readonly used: number
}

async function work(sandbox: Sandbox): Promise<Share> {
  const result = await sandbox.exec(['python3', '-c', WORK])
  return { done: Number(text(result)), used: (result.cpuMs ?? Number.POSITIVE_INFINITY) / result.durationMs }
}

export function describeCpuLimit(suite: Suite): void {
  const needs = { needs: ['processes', 'limits.cpus'], timeoutMs: 90_000 } as const
  suite.plain('half a core does half the work of one', needs, async () => {
    await using half = await suite.options.create({ limits: { cpus: 0.5 } })
    await using whole = await suite.options.create({ limits: { cpus: 1 } })
    await work(half)
    await work(whole)
    const ratios: number[] = []
    // In turn, so that what else runs on the host weighs on both. On a busy host the whole core is not to be had and the
    // work tells nothing; there the processor time does, where the sandbox counts it as the host does.
    for (let round = 0; round < 6 && !ratios.some((ratio) => ratio < 0.75); round++) {
      const limited = await work(half)
      if (limited.used < 0.65) return
      ratios.push(limited.done / (await work(whole)).done)
    }
    expect(Math.min(...ratios)).toBeLessThan(0.75)
  })
}
