import { expect } from 'vitest'
import { collectOutput, eventually, expectRefusal, joined, output, readUntil, text } from '../support/expectations.ts'
import type { Suite } from '../support/suite.ts'

const PROCESSES = { needs: ['processes'] } as const
const RETAINED = 1024 * 1024

export function describeProcesses(suite: Suite): void {
  suite.test('processes are listed with their state', PROCESSES, async (sandbox) => {
    await using process = await sandbox.spawn(['sleep', '100'])
    const running = (await sandbox.processes()).find((info) => info.id === process.id)
    expect(running).toMatchObject({ pid: process.pid, command: ['sleep', '100'], exit: null, outputBytes: 0 })
    expect(Math.abs((running?.startedAt.getTime() ?? 0) - Date.now())).toBeLessThan(10_000)
    await process.kill()
    await process.wait()
    const ended = (await sandbox.processes()).find((info) => info.id === process.id)
    expect(ended?.exit).toMatchObject({ exitCode: null, signal: 'SIGKILL' })
  })

  suite.test('the process id is the one inside', PROCESSES, async (sandbox) => {
    await using process = await sandbox.spawn('echo $$; exec sleep 100')
    const line = await readUntil(process.output[Symbol.asyncIterator](), '\n')
    expect(Number(line)).toBe(process.pid)
    await process.kill()
  })

  suite.test('numbers are not used twice', {}, async (sandbox) => {
    const ids = new Set<number>()
    for (let index = 0; index < 5; index++) {
      await using process = await sandbox.spawn('true')
      ids.add(process.id)
      await process.wait()
    }
    expect(ids.size).toBe(5)
  })

  suite.test('a detached process goes on, and is taken up from an offset', PROCESSES, async (sandbox) => {
    const process = await sandbox.spawn('i=0; while [ $i -lt 40 ]; do i=$((i+1)); echo line $i; sleep 0.02; done')
    await readUntil(process.output[Symbol.asyncIterator](), 'line 3\n')
    await process.detach()
    await using again = await sandbox.attach(process.id)
    const expected = Array.from({ length: 40 }, (_, index) => `line ${index + 1}\n`).join('')
    expect(joined(await collectOutput(again))).toBe(expected)
    expect(await again.wait()).toMatchObject({ exitCode: 0 })
    await using tail = await sandbox.attach(process.id, { offset: expected.length - 8 })
    const chunks = await collectOutput(tail)
    expect(joined(chunks)).toBe('line 40\n')
    expect(chunks[0]).toMatchObject({ offset: expected.length - 8, dropped: 0 })
  })

  suite.test('an ended process keeps its output and its end', PROCESSES, async (sandbox) => {
    const process = await sandbox.spawn('echo kept; echo problem >&2; exit 6')
    await process.detach()
    await eventually(
      'it ends',
      async () => (await sandbox.processes()).find((info) => info.id === process.id)?.exit !== null,
    )
    await using again = await sandbox.attach(process.id)
    const chunks = await collectOutput(again)
    expect(joined(chunks.filter((chunk) => chunk.stream === 'stdout'))).toBe('kept\n')
    expect(joined(chunks.filter((chunk) => chunk.stream === 'stderr'))).toBe('problem\n')
    expect(await again.wait()).toMatchObject({ exitCode: 6 })
  })

  suite.test('output that was not retained is counted', { ...PROCESSES, timeoutMs: 60_000 }, async (sandbox) => {
    const total = 3 * RETAINED
    const process = await sandbox.spawn(`head -c ${total} /dev/zero`)
    await process.detach()
    await eventually(
      'it ends',
      async () => (await sandbox.processes()).find((info) => info.id === process.id)?.exit !== null,
    )
    const info = (await sandbox.processes()).find((each) => each.id === process.id)
    expect(info?.outputBytes).toBe(total)
    expect(info?.oldestOffset).toBeGreaterThanOrEqual(total - RETAINED)
    await using again = await sandbox.attach(process.id)
    const chunks = await collectOutput(again)
    const first = chunks[0]
    expect(first?.dropped).toBe(info?.oldestOffset)
    expect(first?.offset).toBe(info?.oldestOffset)
    const read = chunks.reduce((sum, chunk) => sum + chunk.data.length, 0)
    expect(read + (first?.dropped ?? 0)).toBe(total)
  })

  suite.test('a process that never was', PROCESSES, async (sandbox) => {
    await expectRefusal(sandbox.attach(4_000_000), 'process_not_found')
  })

  suite.test('input can be given after taking a process up again', PROCESSES, async (sandbox) => {
    const process = await sandbox.spawn('read line; echo "got $line"', { stdin: 'pipe' })
    await process.detach()
    await using again = await sandbox.attach(process.id)
    await again.write('hello\n')
    expect(joined(await collectOutput(again))).toBe('got hello\n')
  })

  suite.test('orphans are reaped', { ...PROCESSES, timeoutMs: 60_000 }, async (sandbox) => {
    const program = [
      'import os, time',
      'for i in range(100):',
      '    if os.fork() == 0:',
      '        if os.fork() == 0:',
      '            time.sleep(0.05)',
      '        os._exit(0)',
      '    else:',
      '        os.wait()',
      'time.sleep(0.5)',
    ].join('\n')
    text(await sandbox.exec(['python3', '-c', program]))
    const zombies = "cat /proc/[0-9]*/stat 2>/dev/null | sed 's/.*) //' | grep -c '^Z'; true"
    await eventually('no zombie is left', async () => (await output(sandbox, zombies)) === '0')
  })
}
