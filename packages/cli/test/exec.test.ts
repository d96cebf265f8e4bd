import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BINARY, said, type HearthCommand } from './hearth-command.ts'
import { ServerCommand } from './server-command.ts'
import { typeInto } from './terminal-session.ts'

let command: ServerCommand
let hearth: HearthCommand
let id: string
beforeAll(async () => {
  command = await ServerCommand.start()
  hearth = command.hearth
  id = await command.create()
})
afterAll(async () => await command[Symbol.asyncDispose]())

const script = (text: string, ...options: string[]): string[] => ['exec', ...options, id, '--', 'sh', '-c', text]

describe('exec', () => {
  it('passes output, exit code and arguments through', async () => {
    const result = await hearth.run(script('echo out; echo err >&2; exit 42'))
    expect(result).toMatchObject({ code: 42, stdout: 'out\n', stderr: 'err\n' })
    const words = ['printf', '%s|', '--json', '-i', 'a b', '', '--']
    expect((await hearth.run(['exec', id, ...words])).stdout).toBe('--json|-i|a b||--|')
    expect((await hearth.run(['exec', id, '-q', '--', ...words])).stdout).toBe('--json|-i|a b||--|')
  })

  it('takes options on both sides of the id', async () => {
    const args = ['exec', '--env', 'A=1', id, '--env', 'B=2', '--workdir', '/tmp', '--', 'sh', '-c', 'echo $A $B $PWD']
    expect((await hearth.run(args)).stdout).toBe('1 2 /tmp\n')
  })

  it('gives input with -i alone, byte for byte', async () => {
    const input = randomBytes(500_000)
    expect((await hearth.run(['exec', '-i', id, 'cat'], input)).bytes.equals(input)).toBe(true)
    expect(await hearth.run(['exec', id, 'cat'], 'unread')).toMatchObject({ code: 0, stdout: '' })
  })

  it('ends as the command does', async () => {
    expect((await hearth.run(script('kill -TERM $$'))).code).toBe(143)
    expect(await hearth.run(script('echo begun; sleep 60', '--timeout', '500ms'))).toMatchObject({
      code: 124,
      stdout: 'begun\n',
      stderr: 'hearth: the command took longer than it may; --timeout says how long\n',
    })
    expect((await hearth.run(['exec', id, 'no-such-program'])).code).toBe(127)
    expect((await hearth.run(['exec', 'zzzzzz', 'true'])).code).toBe(125)
  })

  it('gives the typed result with --json', async () => {
    const result = await hearth.run(script('cat; exit 3', '--json', '-i'), 'in')
    expect(result.code).toBe(3)
    expect(JSON.parse(result.stdout)).toMatchObject({
      exitCode: 3,
      signal: null,
      stdout: 'in',
      stderr: '',
      timedOut: false,
      oom: false,
      truncated: false,
      sandbox: { id, rung: 'process' },
    })
  })

  it('passes an interrupt on; a second one kills', async () => {
    const { child, finished } = hearth.start(script('trap "echo caught" INT; echo ready; while :; do sleep 0.05; done'))
    await said(child, 'ready')
    child.kill('SIGINT')
    await said(child, 'caught')
    child.kill('SIGINT')
    expect(await finished).toMatchObject({ code: 137, stdout: 'ready\ncaught\n' })
  })

  it.each([
    [['exec'], /missing required argument 'id'/],
    [['exec', 'sb_x'], /missing required argument 'command'/],
    [['exec', 'sb_x', '--json'], /missing required argument 'command'/],
    [['exec', 'sb_x', '--nothing', '--', 'true'], /unknown option '--nothing'/],
    [['exec', 'sb_x', '--timeout', '5', '--', 'true'], /The unit is missing/],
    [['exec', 'sb_x', '-d', '-i', '--', 'true'], /exclude each other/],
    [['exec', 'sb_x', '-i', '-t', '--', 'true'], /needs a terminal/],
  ])('refuses %j', async (args, message) => {
    const result = await hearth.run(args)
    expect(result).toMatchObject({ code: 125, stdout: '' })
    expect(result.stderr).toMatch(message)
  })
})

describe('--json', () => {
  it('is the word of the command where that begins, and ours before', async () => {
    const missing = 'sb_00000000000000000000'
    const theirs = await hearth.run(['exec', missing, 'curl', '--json', '{}'])
    expect(theirs).toMatchObject({ code: 125, stderr: expect.stringMatching(/^hearth: there is no sandbox/) })
    for (const ours of [
      ['exec', missing, '--json', 'true'],
      ['exec', '--json', missing, '--', 'true'],
      ['exec', missing, '--json', '--rong', '--', 'true'],
    ]) {
      const { code, stderr } = await hearth.run(ours)
      expect([code, Object.keys(JSON.parse(stderr) as object)], ours.join(' ')).toEqual([125, ['error']])
    }
  })
})

describe('processes in the background', () => {
  it('are listed, read and killed', async () => {
    const started = await hearth.json<{ process: number }>(script('echo one; echo two >&2; sleep 60', '-d', '--json'))
    expect(started).toEqual({ sandbox: id, process: expect.any(Number), pid: expect.any(Number) })
    const number = String(started.process)
    expect((await hearth.run(['ps', '-q', id])).stdout).toBe(`${number}\n`)
    expect((await hearth.run(['ps', id])).stdout).toMatch(/^PROCESS +PID .*\n.* running .*sleep 60\n$/)
    expect(await hearth.run(['logs', id])).toMatchObject({ code: 0, stdout: 'one\n', stderr: 'two\n' })
    expect((await hearth.run(['kill', id, number, '-s', 'kill'])).stdout).toBe(`${number}\n`)
    expect((await hearth.run(['ps', '-q', id])).stdout).toBe('')
    const all = await hearth.json<{ id: number; exit: unknown }[]>(['ps', '--all', '--json', id])
    expect(all.at(-1)).toMatchObject({ id: started.process, exit: { signal: 'SIGKILL' } })
  })

  it('are followed until they end', async () => {
    const { process } = await hearth.json<{ process: number }>(
      script('echo begun; while [ ! -e /tmp/go ]; do sleep 0.05; done; echo done', '-d', '--json'),
    )
    const { child, finished } = hearth.start(['logs', id, String(process), '-f', '--json'])
    await said(child, 'begun')
    await hearth.run(['exec', id, 'touch', '/tmp/go'])
    const { code, stdout } = await finished
    expect(code).toBe(0)
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; text?: string })
    expect(lines.map(({ text }) => text ?? '').join('')).toBe('begun\ndone\n')
    expect(lines.at(-1)).toMatchObject({ type: 'exit', exit: { exitCode: 0 } })
    expect((await hearth.run(['logs', id, String(process), '--offset', '6'])).stdout).toBe('done\n')
  })

  it('ends a follower at an interrupt, and not the process', async () => {
    const { process } = await hearth.json<{ process: number }>(script('echo begun; sleep 60', '-d', '--json'))
    const { child, finished } = hearth.start(['logs', '-f', id, String(process)])
    await said(child, 'begun')
    child.kill('SIGINT')
    expect((await finished).code).toBe(130)
    expect((await hearth.run(['ps', '-q', id])).stdout).toContain(`${process}\n`)
    await hearth.run(['kill', id, String(process)])
  })

  it('shows the output of a command beside the exec that runs it', async () => {
    const { child, finished } = hearth.start(script('echo begun; read line; echo over', '-i'))
    await said(child, 'begun')
    const number = (await hearth.run(['ps', '-q', id])).stdout.trim()
    expect((await hearth.run(['logs', id, number])).stdout).toBe('begun\n')
    child.stdin?.end('go on\n')
    expect(await finished).toMatchObject({ code: 0, stdout: 'begun\nover\n' })
  })

  it('refuses what is not there', async () => {
    expect((await hearth.run(['logs', id, '999'])).stderr).toMatch(/there is no process 999\n.*hearth ps/)
    expect((await hearth.run(['kill', id, '999'])).code).toBe(1)
    expect((await hearth.run(['kill', id, '1', '-s', 'NOTHING'])).stderr).toMatch(/"NOTHING" is not a signal/)
    expect((await hearth.run(['kill', id, 'x'])).code).toBe(2)
  })
})

describe('terminals', () => {
  it('exec -i -t has the size, the keys and the exit code', async () => {
    const { code, screen } = await typeInto(
      hearth,
      `stty rows 33 cols 91; exec ${BINARY} exec ${id} -it --env PS1='ready> ' -- bash --norc`,
      [
        [/ready> $/, 'tty; stty size; sh -c "echo sleeping; exec sleep 100"\r'],
        [/^sleeping\r+\n/m, '\u0003'],
        [/\^C\r+\n.*ready> $/s, 'exit 23\r'],
      ],
    )
    expect(screen).toMatch(/\/dev\/pts\/\d+\r+\n33 91\r+\n/)
    expect(code).toBe(23)
  })

  it('a shell is left and taken up again', async () => {
    const left = await typeInto(hearth, `exec ${BINARY} shell ${id} --env PS1='ready> ' -- bash --norc`, [
      [/ready> $/, 'secret=kept\r'],
      [/secret=kept\r+\n.*ready> $/s, '~.'],
    ])
    expect(left.code).toBe(0)
    const process = /shell sb_\w+ --attach (\d+)/.exec(left.screen)?.[1]
    const again = await typeInto(hearth, `exec ${BINARY} shell ${id} --attach ${process}`, [
      [/ready> /, 'echo $secret; exit 9\r'],
    ])
    expect(again.screen).toMatch(/^kept\r+\n/m)
    expect(again.code).toBe(9)
  })
})
