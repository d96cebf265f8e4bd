import { expect } from 'vitest'
import { expectRefusal, eventually, output, scratch } from '../support/expectations.ts'
import type { Suite } from '../support/suite.ts'

export function describeExec(suite: Suite): void {
  suite.test('a string is run by a shell and gives the whole result', {}, async (sandbox) => {
    const result = await sandbox.exec('echo hello; echo problem >&2')
    expect(result).toMatchObject({ stdout: 'hello\n', stderr: 'problem\n', exitCode: 0, signal: null })
    expect(result).toMatchObject({ timedOut: false, oom: false, truncated: false, totalOutputBytes: 14 })
    expect(result.durationMs).toBeGreaterThanOrEqual(0)
  })

  suite.test('a list is an argument vector and no shell looks at it', {}, async (sandbox) => {
    const result = await sandbox.exec(['printf', '%s|', 'a b', '$HOME', '*', '', "it's", '"', '\\'])
    expect(result.stdout).toBe('a b|$HOME|*||it\'s|"|\\|')
  })

  suite.test('a program that does not exist', {}, async (sandbox) => {
    const error = await expectRefusal(sandbox.exec(['/no/such/program']), 'spawn_failed')
    expect(error.message).toContain('/no/such/program')
    const inShell = await sandbox.exec('no-such-program')
    expect(inShell.exitCode).toBe(127)
    expect(inShell.stderr).toContain('no-such-program')
  })

  suite.test('a file that is not executable', { needs: ['processes'] }, async (sandbox) => {
    const path = scratch('plain')
    await sandbox.files.write(path, 'text', { mode: 0o644 })
    await expectRefusal(sandbox.exec([path]), 'spawn_failed', 'permission_denied')
  })

  suite.test('a script with an interpreter line', { needs: ['processes'] }, async (sandbox) => {
    const path = scratch('script')
    await sandbox.files.write(path, '#!/bin/sh\necho "ran with $1"\n', { mode: 0o755 })
    expect(await output(sandbox, [path, 'argument'])).toBe('ran with argument')
  })

  suite.test('state of a shell ends with it, files stay', {}, async (sandbox) => {
    const path = scratch('kept')
    await sandbox.exec(`cd /; VARIABLE=1; export VARIABLE; echo kept > ${path}`)
    expect(await output(sandbox, `echo "[$VARIABLE]"; cat ${path}`)).toBe('[]\nkept')
  })

  suite.test('output of fast commands is never lost', { timeoutMs: 60_000 }, async (sandbox) => {
    for (let index = 0; index < 50; index++)
      expect(await output(sandbox, ['echo', `line ${index}`])).toBe(`line ${index}`)
  })

  suite.test('a long argument arrives whole, one beyond the bound is refused', {}, async (sandbox) => {
    const long = 'x'.repeat(80_000)
    const result = await sandbox.exec(['printf', '%s', long])
    expect(result.stdout.length).toBe(long.length)
    await expectRefusal(sandbox.exec(['printf', '%s', 'x'.repeat(200_000)]), 'invalid_request')
    expect(await output(sandbox, 'echo after')).toBe('after')
  })

  suite.test('an aborted command is killed', { needs: ['processes'] }, async (sandbox) => {
    const ticks = scratch('ticks')
    const controller = new AbortController()
    const running = sandbox.exec(`while :; do echo x >> ${ticks}; sleep 0.05; done`, { signal: controller.signal })
    await eventually('the command runs', async () => await sandbox.files.exists(ticks))
    controller.abort()
    await expectRefusal(running, 'aborted')
    await eventually('the command stops', async () => {
      const before = (await sandbox.files.stat(ticks)).size
      await sandbox.exec('sleep 0.3')
      return (await sandbox.files.stat(ticks)).size === before
    })
  })

  suite.test('a signal that was aborted before runs nothing', {}, async (sandbox) => {
    const path = scratch('never')
    await expectRefusal(sandbox.exec(`echo x > ${path}`, { signal: AbortSignal.abort() }), 'aborted')
    expect(await sandbox.files.exists(path)).toBe(false)
  })

  suite.test('malformed commands are refused', {}, async (sandbox) => {
    const hostile: unknown[] = ['', [], ['a\0b'], 7, null, {}, [1]]
    for (const command of hostile) await expectRefusal(sandbox.exec(command as string), 'invalid_request')
    const options: unknown[] = [
      { cwd: 'relative' },
      { env: { 'A=B': 'c' } },
      { env: { A: 'x\0y' } },
      { user: '../root' },
      { timeoutMs: 0 },
      { timeoutMs: -1 },
      { maxOutputBytes: -1 },
      { input: 5 },
      { unknownOption: true },
    ]
    for (const option of options) await expectRefusal(sandbox.exec('true', option as object), 'invalid_request')
  })
}
