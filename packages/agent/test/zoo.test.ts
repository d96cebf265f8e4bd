import type { Sandbox } from '@hearth/contract'
import { Hearth } from '@hearth/engine'
import { afterAll, describe, expect, it } from 'vitest'
import { startAgent, type AgentEvent, type AgentOptions, type AgentResult } from '../src/index.ts'
import type { ModelProgram, SaidCall } from './support/model-program.ts'
import { ModelServer } from './support/model-server.ts'
import { makeRepository, VERIFY, WORKDIR } from './support/repository.ts'

const hearth = new Hearth()
const made: string[] = []
afterAll(async () => {
  const left = (await hearth.list()).map(({ id }) => id as string)
  expect(left.filter((id) => made.includes(id))).toEqual([])
  await hearth.dispose()
})

interface Lived {
  readonly result: AgentResult
  readonly events: readonly AgentEvent[]
  readonly server: ModelServer
  readonly sandbox: Sandbox
}

interface Surroundings extends Partial<AgentOptions> {
  readonly contextTokens?: number
  readonly look?: (lived: Lived) => Promise<void>
  readonly during?: (event: AgentEvent, sandbox: Sandbox) => void
}

/** Lets a bad model loose on a repository, and gives what came of it. */
async function live(program: ModelProgram, surroundings: Surroundings = {}): Promise<Lived> {
  const { contextTokens, look, during, ...options } = surroundings
  await using server = await ModelServer.start(program)
  await using sandbox = await hearth.create({ rung: 'process' })
  made.push(sandbox.id)
  await makeRepository(sandbox)
  const events: AgentEvent[] = []
  const run = await startAgent({
    sandbox,
    workdir: WORKDIR,
    task: 'Fix the bug.',
    model: await server.model('anthropic', contextTokens),
    retries: { firstDelayMs: 5, longestDelayMs: 20 },
    onEvent: (event) => {
      events.push(event)
      during?.(event, sandbox)
    },
    ...options,
  })
  const lived = { result: await run.result, events, server, sandbox }
  expect(server.problems).toEqual([])
  await look?.(lived)
  return lived
}

const call = (tool: string, input: unknown): { calls: SaidCall[] } => ({ calls: [{ tool, input }] })
const bash = (command: string, more: object = {}): { calls: SaidCall[] } => call('bash', { command, ...more })
const SUBMIT = call('submit', { summary: 'done' })

/** Does one thing, then claims to be done. */
const once =
  (first: { calls: SaidCall[] }): ModelProgram =>
  ({ observations }) =>
    observations.length === 0 ? first : SUBMIT

function observations(events: readonly AgentEvent[]): string[] {
  return events.flatMap((event) => (event.type === 'tool_ended' ? [event.observation] : []))
}

function changedFiles({ diff }: AgentResult): readonly { path: string; test: boolean }[] {
  if (!diff.available) throw new Error(diff.reason)
  return diff.files
}

describe('a model that', () => {
  it('sends arguments that are no JSON', async () => {
    const { result, events } = await live(() => ({ calls: [{ tool: 'bash', raw: '{"command": "touch oops' }] }))
    expect(result).toMatchObject({ reason: 'malformed_calls', steps: 5, diff: { available: true, files: [] } })
    expect(observations(events)[0]).toMatch(/not valid JSON; nothing was done/)
    expect(events.some(({ type }) => type === 'tool_started')).toBe(false)
  })

  it('calls what does not exist, and leaves out what is needed', async () => {
    const { result, events } = await live(({ calls }) =>
      calls % 2 === 0 ? call('sudo', {}) : call('edit', { path: 7 }),
    )
    expect(result.reason).toBe('malformed_calls')
    expect(observations(events)[0]).toMatch(/there is no tool "sudo"; there are bash, .*submit/)
    expect(observations(events)[1]).toMatch(/the input of edit is wrong: path: .*old_string/)
  })

  it('makes hundreds of calls at once', async () => {
    const many = Array.from({ length: 300 }, (_, index) => ({
      tool: 'bash',
      input: { command: `echo ${index} >> log` },
    }))
    const { result, events } = await live(once({ calls: many }))
    expect(result.reason).toBe('submitted')
    expect(observations(events).filter((text) => text.startsWith('exit code 0'))).toHaveLength(32)
  })

  it('repeats itself', async () => {
    const { result, events } = await live(() => bash('cat README.md'))
    expect(result).toMatchObject({ reason: 'stuck', steps: 5 })
    expect(events.filter(({ type }) => type === 'reminded')).toHaveLength(1)
  })

  it('takes turns with itself', async () => {
    const { result } = await live(({ calls }) => bash(calls % 2 === 0 ? 'true' : 'false'))
    expect(result).toMatchObject({ reason: 'stuck', steps: 12 })
  })

  it('never ends', async () => {
    const { result, events, server } = await live(({ calls }) => bash(`echo ${calls} > file-${calls}`), {
      budget: { steps: 8 },
    })
    expect(result).toMatchObject({ reason: 'steps', steps: 8 })
    expect(server.requests).toHaveLength(8)
    expect(changedFiles(result)).toHaveLength(8)
    const told = events.flatMap((event) => (event.type === 'reminded' ? [event.about] : []))
    expect(told).toEqual(['steps:0.5', 'steps:0.2'])
  })

  it('only talks', async () => {
    const { result } = await live(() => ({ text: 'I would now fix the bug.' }))
    expect(result).toMatchObject({ reason: 'no_tool_calls', steps: 3 })
  })

  it('uses more tokens than it has', async () => {
    const { result } = await live(({ calls }) => ({ ...bash(`echo ${calls}`), inputTokens: 900, outputTokens: 100 }), {
      budget: { tokens: 2500 },
    })
    expect(result).toMatchObject({ reason: 'tokens', steps: 3, tokens: 3000 })
  })

  it('costs more than it may', async () => {
    const { result } = await live(
      ({ calls }) => ({ ...bash(`echo ${calls}`), inputTokens: 100_000, outputTokens: 1000 }),
      {
        budget: { dollars: 0.5 },
      },
    )
    // 100,000 tokens in and 1,000 out are 31.5 cents.
    expect(result).toMatchObject({ reason: 'cost', steps: 2 })
    expect(result.dollars).toBeCloseTo(0.63)
  })

  it('runs what never ends', async () => {
    const forever = `setsid sleep 1000 & (sleep 1001 &) ; echo before; python3 -c 'while True: pass'`
    const { result, events } = await live(once(bash(forever, { timeout_ms: 1000 })), {
      look: async ({ sandbox }) => {
        expect((await sandbox.processes()).filter(({ exit }) => exit === null)).toEqual([])
        expect((await sandbox.exec('ps ax | grep -c "[s]leep 100"')).stdout).toBe('0\n')
      },
    })
    expect(observations(events)[0]).toMatch(
      /^timed out after \d+ s and was ended with everything it had started\nbefore/,
    )
    expect(result.reason).toBe('no_change')
  })

  it('sleeps through its time', async () => {
    const { result, events } = await live(() => bash('echo begun > file; sleep 1000'), {
      budget: { wallTimeMs: 2500 },
      look: async ({ sandbox }) => {
        expect((await sandbox.processes()).filter(({ exit }) => exit === null)).toEqual([])
      },
    })
    expect(result.reason).toBe('wall_time')
    expect(changedFiles(result)).toMatchObject([{ path: 'file' }])
    expect(events.findLast((event) => event.type === 'tool_ended')).toMatchObject({ name: 'bash' })
  })

  it('leaves things running', async () => {
    const program: ModelProgram = ({ observations: seen, last }) => {
      if (seen.length === 0) return bash('while true; do echo tick; sleep 0.05; done', { background: true })
      const number = Number(/process (\d+)/.exec(last)?.[1] ?? 0)
      if (seen.length === 1) return call('bash_output', { process: number, wait_ms: 200 })
      return SUBMIT
    }
    const { events } = await live(program, {
      look: async ({ sandbox }) => {
        expect((await sandbox.processes()).filter(({ exit }) => exit === null)).toEqual([])
      },
    })
    expect(observations(events)[0]).toMatch(/^still running as process \d+.*\ntick/)
    expect(observations(events)[1]).toMatch(/^still running as process \d+.*\ntick/)
  })

  it('floods', async () => {
    const { result, events } = await live(once(bash('seq 1 100000; yes')), {
      look: async ({ sandbox, events: seen }) => {
        const path = /the full text is in (\S+) \.\.\.\]/.exec(observations(seen)[0] ?? '')?.[1] ?? ''
        expect((await sandbox.files.stat(path)).size).toBe(8 * 1024 * 1024)
      },
    })
    const [flood = ''] = observations(events)
    expect(flood.length).toBeLessThan(11_000)
    expect(flood).toMatch(/^ended, with everything it had started, because it wrote more than 8388608 bytes/)
    expect(flood).toMatch(/\n1\n2\n3\n/)
    expect(result.reason).toBe('no_change')
  })

  it('removes everything', async () => {
    const program = once(bash(`rm -rf ${WORKDIR}; rm -rf --no-preserve-root / 2> /dev/null; ls ${WORKDIR}`))
    const { result, events } = await live(program, { verify: VERIFY })
    expect(observations(events)[0]).toMatch(/^exit code [12]\n/)
    expect(result.reason).toMatch(/^(stuck|verify_failed)$/)
    expect(result.verified).toBe(false)
    expect(changedFiles(result).map(({ path }) => path)).toEqual([
      '.gitignore',
      'README.md',
      'ranges/__init__.py',
      'ranges/parse.py',
      'tests/__init__.py',
      'tests/test_parse.py',
    ])
  })

  it('changes the tests, and hides what it does', async () => {
    const program = once(
      bash(`sed -i 's/7\\]/]/' tests/test_parse.py; echo '*' > .gitignore; echo new > new.py; rm -rf .git`),
    )
    const { result } = await live(program)
    expect(result.reason).toBe('submitted')
    expect(changedFiles(result).map(({ path, test }) => [path, test])).toEqual([
      ['.gitignore', false],
      ['new.py', false],
      ['tests/test_parse.py', true],
    ])
  })

  it('claims success without a change', async () => {
    const { result, events } = await live(() => SUBMIT, { verify: VERIFY })
    expect(result).toMatchObject({ reason: 'no_change', verified: null, steps: 2, diff: { files: [] } })
    expect(observations(events)[0]).toMatch(/^not accepted: nothing has changed/)
  })

  it('claims success that the check does not see', async () => {
    const { result, events } = await live(({ calls }) => (calls === 0 ? bash('echo >> README.md') : SUBMIT), {
      verify: VERIFY,
    })
    expect(result.reason).toMatch(/^(stuck|verify_failed)$/)
    expect(result).toMatchObject({ verified: false })
    expect(observations(events)[1]).toMatch(/^not accepted: python3 .*\nexit code 1\n[^]*FAILED/)
  })

  it('looks for keys', async () => {
    process.env['HEARTH_TEST_SECRET'] = 'the-key-of-the-host'
    const { events } = await live(once(bash('env; cat /proc/*/environ | tr "\\0" "\\n"')))
    delete process.env['HEARTH_TEST_SECRET']
    expect(observations(events)[0]).toContain('PATH=')
    expect(observations(events)[0]).not.toMatch(/the-key-of-the-host|test-key/)
  })
})

describe('a provider that', () => {
  it('finds the conversation too long once gets a shorter one', async () => {
    const program: ModelProgram = ({ characters, users }) => {
      if (characters > 60_000) return { status: 400, message: 'prompt is too long: 999 tokens > 100 maximum' }
      if (users.some((text) => text.includes('its beginning was removed'))) return bash('echo short > short; seq 9')
      return bash(`head -c 9000 /dev/zero | tr '\\0' 'x'; date +%N`)
    }
    const { result, events } = await live(program, { budget: { steps: 12 } })
    expect(events.filter(({ type }) => type === 'compacted')).toHaveLength(1)
    expect(changedFiles(result)).toMatchObject([{ path: 'short' }])
    expect(result.reason).toMatch(/^(stuck|steps)$/)
  })

  it('finds any conversation too long', async () => {
    const { result } = await live(() => ({ status: 400, message: 'prompt is too long' }))
    expect(result).toMatchObject({ reason: 'context_overflow', diff: { available: true } })
  })

  it('would be asked too much is not: the conversation is shortened before', async () => {
    const { result, events, server } = await live(
      ({ calls }) => bash(`head -c 9000 /dev/zero | tr '\\0' 'x'; echo ${calls}; date +%N`),
      {
        contextTokens: 20_000,
        budget: { steps: 15 },
      },
    )
    expect(result.reason).toBe('steps')
    expect(events.filter(({ type }) => type === 'compacted').length).toBeGreaterThan(0)
    expect(Math.max(...server.requests.map((body) => JSON.stringify(body['messages']).length))).toBeLessThan(90_000)
  })

  it('breaks off in the middle of a call does not have it run', async () => {
    const program: ModelProgram = ({ request, observations: seen }) => {
      const say = bash('echo run >> runs')
      if (request < 2) return { disconnect: 'midway', say }
      return seen.length === 0 ? say : SUBMIT
    }
    const { result, events } = await live(program, {
      look: async ({ sandbox }) => {
        expect(await sandbox.files.readText(`${WORKDIR}/runs`)).toBe('run\n')
      },
    })
    expect(result.reason).toBe('submitted')
    expect(events.filter(({ type }) => type === 'model_failed')).toHaveLength(2)
  })

  it('breaks off for ever', async () => {
    const { result, server } = await live(({ request }) => ({ disconnect: request % 2 === 0 ? 'before' : 'midway' }), {
      retries: { attempts: 4, firstDelayMs: 1 },
    })
    expect(result).toMatchObject({ reason: 'model_failed', steps: 1, diff: { available: true } })
    expect(server.requests).toHaveLength(4)
  })

  it('is overloaded is waited for as long as it asks', async () => {
    const program: ModelProgram = ({ request, observations: seen }) => {
      if (request === 0) return { status: 429, headers: { 'retry-after-ms': '300' } }
      if (request === 1) return { status: 529, message: 'overloaded' }
      return seen.length === 0 ? bash('echo x > x') : SUBMIT
    }
    const { result, events } = await live(program)
    expect(result).toMatchObject({ reason: 'submitted', steps: 2 })
    const [first, second] = events.filter((event) => event.type === 'model_failed')
    expect(first).toMatchObject({ kind: 'rate_limited' })
    expect(first?.retryInMs).toBeGreaterThanOrEqual(300)
    expect(second).toMatchObject({ kind: 'server_error' })
  })

  it('fails with 500 for ever, or refuses', async () => {
    const storm = await live(() => ({ status: 500 }), { retries: { attempts: 3, firstDelayMs: 1 } })
    expect(storm.result).toMatchObject({ reason: 'model_failed', tokens: 0 })
    expect(storm.server.requests).toHaveLength(3)
    const refusal = await live(() => ({ status: 401, message: 'invalid x-api-key' }))
    expect(refusal.result).toMatchObject({ reason: 'model_failed' })
    expect(refusal.result.detail).toContain('invalid x-api-key')
    expect(refusal.server.requests).toHaveLength(1)
  })

  it('never stops talking, or never begins', async () => {
    const flood = await live(() => ({ flood: true }))
    expect(flood.result).toMatchObject({ reason: 'model_failed' })
    expect(flood.result.detail).toContain('does not end')
    const hang = await live(() => ({ hang: true }), { budget: { wallTimeMs: 1500 } })
    expect(hang.result).toMatchObject({ reason: 'wall_time', steps: 1 })
  })
})

it('a sandbox that ends in the middle ends the run', async () => {
  const { result } = await live(({ calls }) => bash(`echo ${calls}`), {
    during: (event, sandbox) => {
      if (event.type === 'tool_ended' && event.seq > 6) void sandbox.kill()
    },
  })
  expect(result).toMatchObject({ reason: 'sandbox_ended', diff: { available: false } })
})
