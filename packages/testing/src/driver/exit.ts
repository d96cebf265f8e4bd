import { expect } from 'vitest'
import { collectOutput, expectRefusal, endOf, readUntil } from '../support/expectations.ts'
import type { Suite } from '../support/suite.ts'

const PROCESSES = { needs: ['processes'] } as const

export function describeExit(suite: Suite): void {
  suite.test('exit codes', {}, async (sandbox) => {
    for (const code of [0, 1, 42, 126, 255]) {
      expect(await sandbox.exec(`exit ${code}`)).toMatchObject({ exitCode: code, signal: null, timedOut: false })
    }
  })

  suite.test('a command that a signal ended', PROCESSES, async (sandbox) => {
    for (const signal of ['SIGKILL', 'SIGTERM', 'SIGSEGV', 'SIGABRT', 'SIGUSR1']) {
      const result = await sandbox.exec(`echo before; kill -${signal.slice(3)} $$`)
      expect(result).toMatchObject({ stdout: 'before\n', exitCode: null, signal, timedOut: false, oom: false })
    }
  })

  suite.test('a child that a signal ended is an exit code of the shell', PROCESSES, async (sandbox) => {
    expect(await sandbox.exec("sh -c 'kill -9 $$'; exit $?")).toMatchObject({ exitCode: 137, signal: null })
  })

  suite.test('a signal reaches the process, which may handle it', PROCESSES, async (sandbox) => {
    await using process = await sandbox.spawn(
      "trap 'echo caught; exit 9' INT; echo ready; while :; do sleep 0.05; done",
    )
    const iterator = process.output[Symbol.asyncIterator]()
    await readUntil(iterator, 'ready\n')
    await process.signal('SIGINT')
    expect(await readUntil(iterator, 'caught')).toContain('caught')
    expect(await endOf(process, iterator)).toMatchObject({ exitCode: 9, signal: null })
  })

  suite.test('the default signal is SIGTERM, and it reaches the group', PROCESSES, async (sandbox) => {
    await using process = await sandbox.spawn('sleep 100 | sleep 100; echo survived')
    await process.signal()
    expect(await process.wait()).toMatchObject({ exitCode: null, signal: 'SIGTERM' })
  })

  suite.test('a signal that does not exist', PROCESSES, async (sandbox) => {
    await using process = await sandbox.spawn('sleep 100')
    await expectRefusal(process.signal('SIGNOTHING'), 'invalid_request')
    await process.kill()
    expect(await process.wait()).toMatchObject({ signal: 'SIGKILL' })
  })

  suite.test('every call of wait gives the same end', PROCESSES, async (sandbox) => {
    await using process = await sandbox.spawn('exit 5')
    const [first, second] = await Promise.all([process.wait(), process.wait()])
    expect(first).toEqual(second)
    expect(await process.wait()).toEqual(first)
    expect(await collectOutput(process)).toEqual([])
  })

  suite.test('signals to a process that has ended harm nothing', PROCESSES, async (sandbox) => {
    await using process = await sandbox.spawn('true')
    await process.wait()
    await process.kill()
    await process.kill()
    expect(await sandbox.exec('exit 4')).toMatchObject({ exitCode: 4 })
  })

  suite.test('processor time and duration are told', PROCESSES, async (sandbox) => {
    const result = await sandbox.exec('sleep 0.3; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done')
    expect(result.durationMs).toBeGreaterThan(290)
    expect(result.cpuMs).toBeGreaterThan(0)
    expect(result.cpuMs).toBeLessThan(result.durationMs)
  })
}
