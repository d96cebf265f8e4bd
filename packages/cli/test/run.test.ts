import { createHash, randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { HearthCommand, said } from './hearth-command.ts'

let hearth: HearthCommand
beforeAll(async () => void (hearth = await HearthCommand.create()))
afterAll(async () => await hearth[Symbol.asyncDispose]())

const inside = (...command: string[]): string[] => ['run', '--rung', 'process', '--', ...command]
const script = (text: string): string[] => inside('sh', '-c', text)

describe('what passes through', () => {
  it('output, each to its own stream, and the exit code', async () => {
    const result = await hearth.run(script('echo out; echo err >&2; exit 42'))
    expect(result).toMatchObject({ code: 42, stdout: 'out\n', stderr: 'err\n' })
  })

  it('input with its end, byte for byte', async () => {
    const input = randomBytes(3_000_000)
    const result = await hearth.run(inside('cat'), input)
    expect(result.code).toBe(0)
    expect(sha256(result.bytes)).toBe(sha256(input))
  })

  it('input that nobody reads', async () => {
    expect(await hearth.run(inside('true'), randomBytes(3_000_000))).toMatchObject({ code: 0, stderr: '' })
  })

  it('arguments as they are, with and without the separator', async () => {
    const words = ['printf', '%s|', '--json', 'a b', '$HOME', '', '*']
    const expected = { code: 0, stdout: '--json|a b|$HOME||*|' }
    expect(await hearth.run(inside(...words))).toMatchObject(expected)
    expect(await hearth.run(['run', '--rung', 'process', ...words])).toMatchObject(expected)
  })

  it('environment, working directory and nothing of the host', async () => {
    const args = ['run', '--rung', 'process', '--env', 'A=1=2', '--env', 'B=', '--workdir', '/tmp', '--', 'sh', '-c']
    const result = await hearth.run([...args, 'echo "$A|$B|$PWD|${HEARTH_HOME-unset}"'])
    expect(result).toMatchObject({ code: 0, stdout: '1=2||/tmp|unset\n' })
  })

  it('the end of a reader', async () => {
    const { child, finished } = hearth.start(inside('yes'))
    child.stdin?.end()
    await said(child, 'y\ny\n')
    child.stdout?.destroy()
    expect((await finished).code).toBe(141)
  })
})

describe('how it ends', () => {
  it('with 128 and the number of a signal', async () => {
    expect((await hearth.run(script('kill -TERM $$'))).code).toBe(143)
  })

  it('with 124 after a timeout, and the output up to it', async () => {
    const result = await hearth.run([
      'run',
      '--rung',
      'process',
      '--timeout',
      '700ms',
      '--',
      'sh',
      '-c',
      'echo begun; sleep 60',
    ])
    expect(result).toMatchObject({ code: 124, stdout: 'begun\n', stderr: expect.stringContaining('took longer') })
  })

  it('with 127 when there is no such program', async () => {
    const result = await hearth.run(inside('no-such-program'))
    expect(result).toMatchObject({ code: 127, stdout: '' })
    expect(result.stderr).toContain('no-such-program')
  })

  it('with 125 when Hearth itself failed', async () => {
    const result = await hearth.run(['run', '--template', 'no-such-template', '--', 'true'])
    expect(result).toMatchObject({ code: 125, stdout: '' })
    expect(result.stderr).toMatch(/^hearth: .*no-such-template/)
  })

  it('with nothing left behind', async () => {
    await hearth.run(script('sleep 300 & setsid sleep 300 & echo started'))
    expect(await readdir(join(hearth.home, 'sandboxes')).catch(() => [])).toEqual([])
  })
})

describe('signals', () => {
  it('an interrupt reaches the command, which may finish', async () => {
    const { child, finished } = hearth.start(
      script('trap "echo caught; exit 7" INT; echo ready; while :; do sleep 0.05; done'),
    )
    await said(child, 'ready')
    child.kill('SIGINT')
    expect(await finished).toMatchObject({ code: 7, stdout: 'ready\ncaught\n' })
  })

  it('a second interrupt kills a command that ignores the first', async () => {
    const { child, finished } = hearth.start(
      script('trap "echo ignored" INT; echo ready; while :; do sleep 0.05; done'),
    )
    await said(child, 'ready')
    child.kill('SIGINT')
    await said(child, 'ignored')
    child.kill('SIGINT')
    expect(await finished).toMatchObject({ code: 137, stdout: 'ready\nignored\n' })
  })

  it('a request to end does too, and the sandbox is gone', async () => {
    const { child, finished } = hearth.start(inside('sh', '-c', 'echo ready; exec sleep 300'))
    await said(child, 'ready')
    child.kill('SIGTERM')
    expect((await finished).code).toBe(143)
    expect(await readdir(join(hearth.home, 'sandboxes')).catch(() => [])).toEqual([])
  })
})

describe('--json', () => {
  it('gives the typed result on standard output and nothing else there', async () => {
    const result = await hearth.run(['run', '--json', ...script('cat; echo err >&2; exit 3').slice(1)], 'in')
    expect(result).toMatchObject({ code: 3, stderr: '' })
    expect(JSON.parse(result.stdout)).toEqual({
      exitCode: 3,
      signal: null,
      stdout: 'in',
      stderr: 'err\n',
      durationMs: expect.any(Number),
      cpuMs: expect.any(Number),
      timedOut: false,
      oom: false,
      truncated: false,
      totalOutputBytes: 6,
      sandbox: {
        id: expect.stringMatching(/^sb_/),
        rung: 'process',
        driver: expect.any(String),
        template: 'host',
      },
    })
  })

  it('marks a timeout and a flood', async () => {
    const args = [
      'run',
      '--json',
      '--rung',
      'process',
      '--timeout',
      '1500ms',
      '--',
      'sh',
      '-c',
      'yes | head -c 20000000; sleep 60',
    ]
    const result = await hearth.run(args)
    expect(result.code).toBe(124)
    expect(JSON.parse(result.stdout)).toMatchObject({ timedOut: true, truncated: true })
  })

  it('gives failures as an object on standard error', async () => {
    const result = await hearth.run(['run', '--json', '--rung', 'basement', '--', 'true'])
    expect(result).toMatchObject({ code: 125, stdout: '' })
    expect(JSON.parse(result.stderr)).toEqual({
      error: {
        code: 'invalid_request',
        message: expect.stringMatching(/rung.*simulated.*microvm/),
        suggestion: expect.any(String),
        retryable: false,
      },
    })
  })
})

function sha256(data: Uint8Array): string {
  return createHash('sha256').update(data).digest('hex')
}
