import { setTimeout as sleep } from 'node:timers/promises'
import type { Sandbox } from '@hearth/contract'
import { expect } from 'vitest'
import { collectOutput, eventually, joined, output } from '../support/expectations.ts'
import { Copies, type ForkSuite } from './fork-suite.ts'

/** Adds to one file, then to the other, again and again: at every instant the first has as many lines, or one more. */
const PAIRS = 'i=0; while :; do i=$((i+1)); echo $i >> /tmp/srv/first; echo $i >> /tmp/srv/second; done'
/** 64 MB of numbered lines of 16 bytes. */
const BIG = "seq -f '%015.0f' 4000000 > /tmp/srv/big"
const CHECK_BIG = `size=$(stat -c %s /tmp/srv/big); seq -f '%015.0f' 4000000 | head -c $size | cmp - /tmp/srv/big && echo $size`

export function describeUnderLoad(suite: ForkSuite): void {
  const { memory } = suite.options.capabilities

  suite.test('a fork while 50 commands run', { needs: ['processes'], timeoutMs: 90_000 }, async (parent) => {
    const expected = (index: number): string =>
      [index, ...Array.from({ length: index }, (_, line) => line + 1)].join('\n')
    const commands = await Promise.all(
      // They wait for the end of their input, then say the rest.
      Array.from({ length: 50 }, (_, index) => parent.spawn(`echo ${index}; cat; seq ${index}`, { stdin: 'pipe' })),
    )
    const outputs = commands.map(async (command) => joined(await collectOutput(command)).trim())
    await eventually('all have begun', async () => {
      return (await parent.processes()).filter((process) => process.outputBytes > 0).length === 50
    })
    await using copies = new Copies((await parent.fork(2)).children)
    await Promise.all(commands.map((command) => command.closeStdin()))
    for (const [index, said] of (await Promise.all(outputs)).entries()) expect(said).toBe(expected(index))
    if (!memory) {
      for (const child of copies.all) expect(await child.processes()).toEqual([])
      return
    }
    for (const child of copies.all) {
      expect((await child.processes()).filter((process) => process.exit === null).length).toBe(50)
      const taken = await child.attach(commands[37]?.id ?? 0)
      await taken.closeStdin()
      expect(joined(await collectOutput(taken)).trim()).toBe(expected(37))
      expect(await taken.wait()).toMatchObject({ exitCode: 0 })
    }
  })

  suite.test(
    'a fork while files are written gives those of one instant',
    { needs: ['processes'], timeoutMs: 90_000 },
    async (parent) => {
      await using pairs = await parent.spawn(PAIRS)
      await using big = await parent.spawn(BIG)
      const discarded = [pairs.wait(), big.wait()].map((exit) => exit.catch(() => null))
      await eventually('the files grow', async () => {
        return (
          await output(parent, 'cat /tmp/srv/second 2>/dev/null | wc -l; [ -s /tmp/srv/big ] && echo y')
        ).endsWith('y')
      })
      const forked = parent.fork(2, { memory: 'none' })
      await callUntil(parent, forked)
      await using copies = new Copies((await forked).children)
      await Promise.all([pairs.kill(), big.kill()])
      await Promise.all(discarded)
      const sizes = new Set<string>()
      for (const child of copies.all) {
        const [first = 0, second = 0] = (await output(child, 'wc -l < /tmp/srv/first; wc -l < /tmp/srv/second'))
          .split('\n')
          .map(Number)
        expect(second).toBeGreaterThan(0)
        expect([second, second + 1]).toContain(first)
        sizes.add(`${first} ${await output(child, CHECK_BIG)}`)
      }
      expect(sizes.size).toBe(1)
    },
  )
}

/** Calls that begin meanwhile take longer where the sandbox stands still; none of them is refused. */
async function callUntil(sandbox: Sandbox, end: Promise<unknown>): Promise<void> {
  const calls: Promise<unknown>[] = []
  let over = false
  const ended = end.finally(() => (over = true))
  for (; !over; await sleep(5)) calls.push(sandbox.files.stat('/tmp/srv'))
  await Promise.all([...calls, ended])
}
