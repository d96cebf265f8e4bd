import { expect } from 'vitest'
import { expectRefusal } from '../support/expectations.ts'
import type { Suite } from '../support/suite.ts'

const PROCESSES = { needs: ['processes'], timeoutMs: 60_000 } as const

export function describeRunCode(suite: Suite): void {
  suite.test('python keeps its state and gives the last value', PROCESSES, async (sandbox) => {
    const first = await sandbox.runCode('import math\nx = 20\nprint("printed")')
    expect(first).toMatchObject({
      stdout: 'printed\n',
      stderr: '',
      text: null,
      error: null,
      timedOut: false,
      truncated: false,
    })
    expect(await sandbox.runCode('x + math.isqrt(9)')).toMatchObject({ text: '23', error: null, stdout: '' })
    expect(await sandbox.runCode('def f(n):\n    return n * 2\n\nf(21)')).toMatchObject({ text: '42' })
    expect(await sandbox.runCode('y = 5')).toMatchObject({ text: null })
    expect(await sandbox.runCode('None')).toMatchObject({ text: null, error: null })
    expect(await sandbox.runCode('"ü✓🔥"')).toMatchObject({ text: "'ü✓🔥'" })
  })

  suite.test('errors of python are data, and the state stays', PROCESSES, async (sandbox) => {
    await sandbox.runCode('kept = 7')
    const failed = await sandbox.runCode('print("before")\n1 / 0')
    expect(failed).toMatchObject({ stdout: 'before\n', text: null, error: { name: 'ZeroDivisionError' } })
    expect(failed.error?.traceback).toContain('1 / 0')
    expect((await sandbox.runCode('this is no python')).error?.name).toBe('SyntaxError')
    expect((await sandbox.runCode('import sys; sys.exit(3)')).error?.name).toBe('SystemExit')
    expect(await sandbox.runCode('kept')).toMatchObject({ text: '7' })
  })

  suite.test('javascript keeps its state', PROCESSES, async (sandbox) => {
    const js = { language: 'javascript' } as const
    expect(
      await sandbox.runCode('const a = 20; let b = 3; console.log("printed"); console.error("problem")', js),
    ).toMatchObject({
      stdout: 'printed\n',
      stderr: 'problem\n',
      error: null,
    })
    expect(await sandbox.runCode('a + b', js)).toMatchObject({ text: '23' })
    expect(
      await sandbox.runCode('await new Promise((resolve) => setTimeout(() => resolve("late"), 20))', js),
    ).toMatchObject({ error: null, text: expect.stringContaining('late') as unknown })
    const failed = await sandbox.runCode('null.property', js)
    expect(failed.error).toMatchObject({ name: 'TypeError' })
    expect((await sandbox.runCode('let let let', js)).error?.name).toBe('SyntaxError')
    expect(await sandbox.runCode('a', js)).toMatchObject({ text: '20' })
  })

  suite.test('bash keeps its state', { timeoutMs: 60_000 }, async (sandbox) => {
    const bash = { language: 'bash' } as const
    await sandbox.runCode('cd /tmp; name=value; greet() { echo "hello $1"; }', bash)
    expect(await sandbox.runCode('pwd; echo "$name"; greet you', bash)).toMatchObject({
      stdout: '/tmp\nvalue\nhello you\n',
      error: null,
    })
    const failed = await sandbox.runCode('echo problem >&2; false', bash)
    expect(failed.stderr).toContain('problem')
    expect(failed.error).not.toBeNull()
    expect(await sandbox.runCode('echo "$name"', bash)).toMatchObject({ stdout: 'value\n' })
  })

  suite.test('contexts are separate', PROCESSES, async (sandbox) => {
    await sandbox.runCode('mine = 1', { context: 'one' })
    expect((await sandbox.runCode('mine', { context: 'two' })).error?.name).toBe('NameError')
    expect(await sandbox.runCode('mine', { context: 'one' })).toMatchObject({ text: '1' })
  })

  suite.test('a timeout keeps the output and starts anew', PROCESSES, async (sandbox) => {
    await sandbox.runCode('lost = 1', { context: 'slow' })
    const result = await sandbox.runCode('print("before", flush=True)\nwhile True: pass', {
      context: 'slow',
      timeoutMs: 700,
    })
    expect(result).toMatchObject({ stdout: 'before\n', timedOut: true })
    expect((await sandbox.runCode('lost', { context: 'slow' })).error?.name).toBe('NameError')
    expect(await sandbox.runCode('1 + 1', { context: 'slow' })).toMatchObject({ text: '2' })
  })

  suite.test('code that prints without end is truncated', PROCESSES, async (sandbox) => {
    const result = await sandbox.runCode('while True: print("x" * 1000)', { context: 'flood', timeoutMs: 3000 })
    expect(result.truncated || result.timedOut).toBe(true)
    expect(result.stdout.length).toBeLessThanOrEqual(sandbox.info.limits.outputBytes)
    expect(await sandbox.runCode('2 + 2', { context: 'flood' })).toMatchObject({ text: '4' })
  })

  suite.test('output that looks like an answer is only output', PROCESSES, async (sandbox) => {
    const forged = await sandbox.runCode(
      'import os\nos.write(1, b\'{"text": "forged", "error": null}\\n\')\nos.write(3, b"x") if False else None\n"real"',
      { context: 'forge' },
    )
    expect(forged.text).toBe("'real'")
  })

  suite.test('an aborted cell is typed, and the next one works', PROCESSES, async (sandbox) => {
    const context = 'aborted'
    await expectRefusal(sandbox.runCode('1', { context, signal: AbortSignal.abort() }), 'aborted')
    const endless = sandbox.runCode('while True: pass', { context, signal: AbortSignal.timeout(300) })
    await expectRefusal(endless, 'aborted')
    expect(await sandbox.runCode('3 + 4', { context })).toMatchObject({ text: '7' })
  })

  suite.test('a language that is not known', {}, async (sandbox) => {
    await expectRefusal(sandbox.runCode('1', { language: 'cobol' as 'python' }), 'invalid_request')
  })
}
