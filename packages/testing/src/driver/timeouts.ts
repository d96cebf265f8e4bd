import { expect } from 'vitest'
import type { Sandbox } from '@hearth/contract'
import { expectRefusal, scratch, sleep, text } from '../support/expectations.ts'
import type { Suite } from '../support/suite.ts'

const PROCESSES = { needs: ['processes'] } as const

/** Ways to get away from a parent: each leaves something that appends to a file until it is killed. */
export const ESCAPES: Readonly<Record<string, (ticks: string) => string>> = {
  'a child in the background': (ticks) => `${ticker(ticks)} & sleep 100`,
  'a new session': (ticks) => `setsid ${inShell(ticks)} & sleep 100`,
  'a new session without environment': (ticks) => `env -i setsid /bin/sh -c '${ticker(ticks)}' & sleep 100`,
  'a double fork': (ticks) => `(setsid ${inShell(ticks)} >/dev/null 2>&1 </dev/null &) ; sleep 100`,
  'a daemon with closed descriptors': (ticks) => `env -i setsid python3 -c '${daemon(ticks)}'; sleep 100`,
  'a child that ignores signals': (ticks) => `(trap "" HUP INT TERM; ${ticker(ticks)}) & trap "" TERM; sleep 100`,
}

function ticker(ticks: string): string {
  return `while :; do echo x >> ${ticks}; sleep 0.05; done`
}

function inShell(ticks: string): string {
  return `/bin/sh -c '${ticker(ticks)}'`
}

function daemon(ticks: string): string {
  const lines = [
    'import os, time',
    'if os.fork(): os._exit(0)',
    'os.setsid()',
    'if os.fork(): os._exit(0)',
    'os.closerange(0, 64)',
    'while True:',
    `    with open("${ticks}", "a") as file: file.write("x")`,
    '    time.sleep(0.05)',
  ]
  return lines.join('\n')
}

/** True when the file has stopped growing. */
export async function isStill(sandbox: Sandbox, ticks: string): Promise<boolean> {
  const before = (await sandbox.files.stat(ticks)).size
  await sleep(400)
  return (await sandbox.files.stat(ticks)).size === before
}

async function waitForTicks(sandbox: Sandbox, ticks: string): Promise<void> {
  text(await sandbox.exec(`until [ -s ${ticks} ]; do sleep 0.02; done`, { timeoutMs: 10_000 }))
}

export function describeTimeouts(suite: Suite): void {
  suite.test('a timeout keeps the output', PROCESSES, async (sandbox) => {
    const result = await sandbox.exec('echo before; echo problem >&2; sleep 100; echo after', { timeoutMs: 400 })
    expect(result).toMatchObject({
      stdout: 'before\n',
      stderr: 'problem\n',
      timedOut: true,
      signal: 'SIGKILL',
      exitCode: null,
    })
    expect(result.durationMs).toBeGreaterThan(390)
    expect(result.durationMs).toBeLessThan(5000)
  })

  suite.test('a timeout of a shell that never sleeps', {}, async (sandbox) => {
    const result = await sandbox.exec('echo before; while :; do :; done', { timeoutMs: 500 })
    expect(result).toMatchObject({ stdout: 'before\n', timedOut: true })
    expect(await sandbox.exec('echo usable')).toMatchObject({ stdout: 'usable\n' })
  })

  for (const [name, escape] of Object.entries(ESCAPES)) {
    suite.test(`a timeout kills ${name}`, PROCESSES, async (sandbox) => {
      const ticks = scratch('ticks')
      const result = await sandbox.exec(escape(ticks), { timeoutMs: 1500 })
      expect(result.timedOut).toBe(true)
      expect((await sandbox.files.stat(ticks)).size).toBeGreaterThan(0)
      expect(await isStill(sandbox, ticks)).toBe(true)
    })
  }

  suite.test('kill ends a daemon whose parent has gone', PROCESSES, async (sandbox) => {
    const ticks = scratch('ticks')
    await using process = await sandbox.spawn(ESCAPES['a daemon with closed descriptors']?.(ticks) ?? '')
    await waitForTicks(sandbox, ticks)
    await process.kill()
    expect(await process.wait()).toMatchObject({ signal: 'SIGKILL', timedOut: false })
    expect(await isStill(sandbox, ticks)).toBe(true)
  })

  suite.test('a child that holds the pipes open does not delay the result', PROCESSES, async (sandbox) => {
    const started = performance.now()
    const result = await sandbox.exec('sleep 20 & echo done')
    expect(result).toMatchObject({ stdout: 'done\n', exitCode: 0, timedOut: false })
    expect(performance.now() - started).toBeLessThan(8000)
  })

  suite.test('a flood until the timeout', { ...PROCESSES, timeoutMs: 60_000 }, async (sandbox) => {
    const result = await sandbox.exec('yes', { timeoutMs: 800, maxOutputBytes: 10_000 })
    expect(result).toMatchObject({ timedOut: true, truncated: true })
    expect(result.stdoutBytes).toHaveLength(10_000)
  })

  suite.own(
    'the wall time of the sandbox is the default of exec, and the most',
    { ...PROCESSES, spec: { limits: { wallTimeMs: 700 } } },
    async (sandbox) => {
      expect(await sandbox.exec('echo before; sleep 100')).toMatchObject({ stdout: 'before\n', timedOut: true })
      await expectRefusal(sandbox.exec('true', { timeoutMs: 701 }), 'invalid_request')
      const started = await sandbox.spawn('sleep 1.2; echo done')
      expect(await started.wait()).toMatchObject({ timedOut: false, exitCode: 0 })
      const limited = await sandbox.spawn('sleep 100', { timeoutMs: 300 })
      expect(await limited.wait()).toMatchObject({ timedOut: true, signal: 'SIGKILL' })
    },
  )
}
