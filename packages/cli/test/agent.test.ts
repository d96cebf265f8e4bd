import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { execFileSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BOUNDS } from '@hearth/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BINARY, HearthCommand, said } from './hearth-command.ts'
import { typeInto } from './terminal-session.ts'

let hearth: HearthCommand
const directory = mkdtempSync(join(tmpdir(), 'hearth-agent-cli-'))
const repository = join(directory, 'repository')
const script = join(directory, 'script.json')

const SCRIPT = [
  { text: 'I look.', calls: [{ tool: 'bash', input: { command: 'sh test.sh' } }] },
  { calls: [{ tool: 'edit', input: { path: 'greet.sh', old_string: 'helo', new_string: 'hello' } }] },
  { calls: [{ tool: 'submit', input: { summary: 'spelling' } }] },
]

beforeAll(async () => {
  hearth = await HearthCommand.create()
  execFileSync('mkdir', [repository])
  writeFileSync(join(repository, 'greet.sh'), 'echo helo\n')
  writeFileSync(join(repository, 'test.sh'), 'test "$(sh greet.sh)" = hello\n')
  writeFileSync(script, JSON.stringify(SCRIPT))
})
afterAll(async () => {
  await hearth[Symbol.asyncDispose]()
  rmSync(directory, { recursive: true })
})

describe('hearth agent', () => {
  const args = ['agent', 'fix the greeting', '--repo', repository, '--model', `scripted:${script}`, '--rung', 'process']

  it('gives a patch that can be applied, and leaves the directory as it was', async () => {
    const { code, stdout, stderr } = await hearth.run([...args, '--verify', 'sh test.sh'])
    expect(stderr).toMatch(/works in \/workspace\n {2}I look\.\n> bash sh test\.sh\n {2}failed: exit code 1/)
    expect(stderr).toMatch(/submitted: the check has passed \(3 steps, .*\)\n1 file changed\n$/)
    expect(code).toBe(0)
    expect(readFileSync(join(repository, 'greet.sh'), 'utf8')).toBe('echo helo\n')
    execFileSync('git', ['apply', '--check'], { cwd: repository, input: stdout })
  })

  it('gives events as JSON, and the patch in a file', async () => {
    const file = join(directory, 'change.patch')
    const { code, stdout } = await hearth.run([...args, '--json', '--diff', file])
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(lines[0]).toMatchObject({ type: 'started', seq: 0 })
    expect(lines.at(-1)).toMatchObject({
      type: 'result',
      reason: 'submitted',
      summary: 'spelling',
      files: [{ path: 'greet.sh' }],
    })
    expect(readFileSync(file, 'utf8')).toBe(lines.at(-1)?.['patch'])
    expect(code).toBe(0)
  })

  it('gives the patch when it cannot be written where it should go, and then the error', async () => {
    const { code, stdout, stderr } = await hearth.run([...args, '--diff', join(directory, 'none', 'change.patch')])
    expect([code, stderr]).toEqual([1, expect.stringMatching(/\nhearth: .*none\/change\.patch: there is no such file/)])
    execFileSync('git', ['apply', '--check'], { cwd: repository, input: stdout })
  })

  it('leaves a sandbox that soon ends when it is killed', async () => {
    const long = join(directory, 'long.json')
    writeFileSync(long, JSON.stringify([{ calls: [{ tool: 'bash', input: { command: 'sleep 600' } }] }]))
    const { child, finished } = hearth.start([...args, '--model', `scripted:${long}`, '--json'])
    await said(child, '"tool_started"')
    child.kill('SIGKILL')
    await finished
    const [left = ''] = readdirSync(join(hearth.home, 'sandboxes'))
    const numberIn = (name: string): number =>
      Number.parseInt(readFileSync(join(hearth.home, 'sandboxes', left, name), 'utf8'), 10)
    const [deadline, keeper] = [numberIn('deadline'), numberIn('keeper.pid')]
    process.kill(keeper, 'SIGKILL')
    expect(deadline - Date.now()).toBeLessThan(11 * 60_000)
  })

  it('ends with 1 and what there is when its budget ends', async () => {
    const { code, stdout, stderr } = await hearth.run([...args, '--max-steps', '2', '-q'])
    expect([code, stderr]).toEqual([1, ''])
    expect(stdout).toContain('+echo hello')
  })

  it('writes all files to this machine when no patch can be made of them', async () => {
    const large = join(directory, 'large.json')
    const command = 'echo kept > small; head -c 60000000 /dev/urandom > large'
    const replies = [{ calls: [{ tool: 'bash', input: { command } }] }, SCRIPT[2]]
    writeFileSync(large, JSON.stringify(replies))
    const words = args.map((word) => (word.startsWith('scripted:') ? `scripted:${large}` : word))
    const { code, stdout, stderr } = await hearth.run([...words])
    expect([code, stdout]).toEqual([0, ''])
    expect(stderr).toMatch(/there is no patch: git wrote more than \d+ bytes/)
    const [, file = ''] = /all files were written to (\S+\.tar)$/m.exec(stderr) ?? []
    const found = execFileSync('tar', ['--extract', '--to-stdout', '--wildcards', '--file', file, '*small'])
    expect(found.toString()).toBe('kept\n')
  })

  it('counts what a model costs by the price that is given', async () => {
    const dear = join(directory, 'dear.json')
    const usage = { inputTokens: 1000, outputTokens: 100 }
    writeFileSync(dear, JSON.stringify(SCRIPT.map((reply) => ({ ...reply, usage }))))
    const given = ['agent', 'x', '--repo', repository, '--rung', 'process', '--model', `scripted:${dear}`]
    const { code, stderr } = await hearth.run([...given, '--price', `scripted:${dear}=1000/1000`, '--max-cost', '2'])
    expect([code, stderr]).toEqual([1, expect.stringMatching(/\ncost: [^]*2 steps, 2200 tokens, \$2\.20/)])
    const unknown = ['agent', 'x', '--model', 'openai-compatible:http://127.0.0.1:1#x', '--max-cost', '2']
    expect((await hearth.run([...unknown, '--repo', repository])).stderr).toMatch(
      /no price for [^]*--price NAME=IN\/OUT/,
    )
    expect((await hearth.run([...given, '--price', 'cheap'])).stderr).toContain('openai:gpt-6-sol=2/10')
  })

  it('shows its sub-agents, whose changes are its own', async () => {
    const delegating = join(directory, 'delegating.json')
    // Sub-agents follow the same script: they have no such tool, and go on.
    const delegate = { tool: 'delegate', input: { sub_agents: [{ task: 'fix the spelling' }] } }
    writeFileSync(delegating, JSON.stringify([{ calls: [delegate] }, ...SCRIPT.slice(1)]))
    const words = args.map((word) => (word.startsWith('scripted:') ? `scripted:${delegating}` : word))
    const { code, stdout, stderr } = await hearth.run([...words, '--delegate'])
    expect(stderr).toMatch(/^> delegate fix the spelling\n\[sub-agent \w{4}\] begins: fix the spelling$/m)
    expect(stderr).toMatch(/^\[sub-agent \w{4}\] > edit greet\.sh\n[^]*^\[sub-agent \w{4}\] submitted: /m)
    expect(stderr).toMatch(/^! sub-agent \w{4}: merged greet\.sh\n[^]*\(6 steps, .*\)\n1 file changed\n$/m)
    expect(stdout).toContain('+echo hello')
    expect(code).toBe(0)
    const without = await hearth.run([...words, '-q'])
    expect(without.code).toBe(0)
    const both = await hearth.run([...words, '--delegate', '2', '--best-of', '2', '--verify', 'true'])
    expect([both.code, both.stderr]).toEqual([
      2,
      expect.stringMatching(/'--delegate.*' cannot be used with option '--best-of/),
    ])
    expect((await hearth.run([...words, '--delegate', '9'])).stderr).toContain(
      `levels from 1 to ${BOUNDS.delegationDepth}.`,
    )
  })

  it('prepares the machine before anything counts as a change', async () => {
    const prepare = ['--prepare', 'echo made > made', '--verify', 'sh test.sh && test -e made']
    const { code, stdout, stderr } = await hearth.run([...args, ...prepare])
    expect(stderr).toMatch(/^preparing: echo made > made\n/m)
    expect(stdout).toContain('+echo hello')
    expect(stdout).not.toContain('made')
    expect(code).toBe(0)
    const failed = await hearth.run([...args, '--prepare', 'echo why; exit 3'])
    expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining('--prepare ended with 3: why')])
  })

  it('keeps to rules, and refuses what nobody can be asked about', async () => {
    const rules = ['--permission', 'bash:sh *=deny', '--permission', 'edit=ask']
    const { code, stdout, stderr } = await hearth.run([...args, ...rules])
    expect(stderr).toMatch(/denied: not allowed: a rule forbids it/)
    expect(stderr).toMatch(/^! not approved, since there is no terminal to ask on: edit greet\.sh$/m)
    expect([code, stdout]).toEqual([1, ''])
    const wrong = await hearth.run([...args, '--permission', 'bash:maybe'])
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('bash:git push*=deny')])
  })

  it('asks on a terminal', async () => {
    const words = [...args, '--permission', 'edit=ask'].map((word) => `'${word}'`).join(' ')
    const turns = [[/allow edit greet\.sh \? \[y\/N\] /, 'y\r']] as const
    const { code, screen } = await typeInto(hearth, `stty cols 100; exec ${BINARY} ${words}`, turns)
    expect(screen).toMatch(/submitted: .*\n1 file changed/s)
    expect(code).toBe(0)
  })

  it('lets programs of this machine look at each call, refuse it and say something else', async () => {
    const calls = join(directory, 'calls')
    const before = `cat >> ${calls}; if tail -n 1 ${calls} | grep -q '"tool":"bash"'; then echo no shell >&2; exit 3; fi`
    const after = `cat >> ${calls}; echo '{"text":"as if"}'`
    const { code, stdout } = await hearth.run([...args, '--json', '--hook-before', before, '--hook-after', after])
    const told = stdout
      .split('\n')
      .filter((line) => line.includes('"tool_ended"'))
      .map((line) => (JSON.parse(line) as { observation: string }).observation)
    expect(told[0]).toMatch(/^not allowed: the hook .* ended with 3: no shell/s)
    expect(told[1]).toBe('as if')
    const seen = readFileSync(calls, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(seen.map(({ event, tool }) => [event, tool])).toEqual([
      ['before_tool', 'bash'],
      ['before_tool', 'edit'],
      ['after_tool', 'edit'],
      ['before_tool', 'submit'],
    ])
    expect(seen[2]).toMatchObject({ input: { path: 'greet.sh' }, result: { failed: false } })
    expect(code).toBe(0)
  })

  it('says that a key is missing', async () => {
    Object.assign(hearth.env, { ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '' })
    const none = await hearth.run(['agent', 'x', '--repo', repository])
    expect(none.code).toBe(1)
    expect(none.stderr).toMatch(/neither ANTHROPIC_API_KEY nor OPENAI_API_KEY is set[^]*scripted:FILE/)
    const { code, stderr } = await hearth.run(['agent', 'x', '--model', 'anthropic:claude'])
    expect(code).toBe(1)
    expect(stderr).toContain('scripted:FILE')
  })
})
