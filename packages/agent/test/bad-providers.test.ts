import { describe, expect, it } from 'vitest'
import { SharedBudget } from '../src/index.ts'
import type { ModelProgram } from './support/model-program.ts'
import { WORKDIR } from './support/repository.ts'
import { bash, changedFiles, live, SUBMIT } from './support/zoo.ts'

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
    const failed = events.filter((event) => event.type === 'model_failed')
    expect(failed).toHaveLength(2)
    // What broke off was paid for: nobody says how much, so that it is counted by its length.
    const used = failed.map(({ usage, dollars = 0 }) => [usage?.inputTokens ?? 0, dollars] as const)
    for (const [tokens, dollars] of used) {
      expect(tokens).toBeGreaterThan(500)
      expect(dollars).toBeGreaterThan(0)
    }
    expect(result.tokens).toBeGreaterThan(used.reduce((sum, [tokens]) => sum + tokens, 0))
    expect(result.dollars).toBeGreaterThan(used.reduce((sum, [, dollars]) => sum + dollars, 0))
  })

  it('breaks off for ever', async () => {
    const { result, server } = await live(({ request }) => ({ disconnect: request % 2 === 0 ? 'before' : 'midway' }), {
      retries: { attempts: 4, firstDelayMs: 1 },
    })
    expect(result).toMatchObject({ reason: 'model_failed', steps: 1, diff: { available: true } })
    expect(server.requests).toHaveLength(4)
  })

  it('breaks off what is paid for is not asked again when that has used the budget up', async () => {
    const say = { text: 'x'.repeat(30_000) }
    const { result, events } = await live(() => ({ disconnect: 'midway', say }), { budget: { tokens: 6000 } })
    expect(result).toMatchObject({ reason: 'tokens', steps: 1, diff: { files: [] } })
    expect(events.filter(({ type }) => type === 'model_failed')).toMatchObject([{ retryInMs: null }])
  })

  it('breaks off what several pay for is not asked again either', async () => {
    const shared = new SharedBudget({ steps: 100, tokens: 6000, dollars: null, wallTimeMs: 3_600_000 })
    const say = { text: 'x'.repeat(30_000) }
    const { result } = await live(() => ({ disconnect: 'midway', say }), { shared })
    expect(result).toMatchObject({ reason: 'tokens', steps: 1 })
    expect(shared.spent.tokens).toBe(result.tokens)
  })

  it('does not count has its tokens counted by their length', async () => {
    const program: ModelProgram = ({ observations: seen }) => ({
      ...(seen.length === 0 ? bash(`: ${'x'.repeat(3500)}`) : SUBMIT),
      inputTokens: 0,
      outputTokens: 0,
    })
    const { events } = await live(program)
    const [first] = events.filter((event) => event.type === 'model_replied')
    expect(first?.usage.inputTokens).toBeGreaterThan(500)
    expect(first?.usage.outputTokens).toBeGreaterThan(900)
    expect(first?.usage.outputTokens).toBeLessThan(1200)
  })

  it('takes little is asked for a quarter of that at the most', async () => {
    const { server } = await live(() => SUBMIT, { contextTokens: 8000 })
    expect(server.requests.map((body) => body['max_tokens'])).toEqual(server.requests.map(() => 2000))
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
