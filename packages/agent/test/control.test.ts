import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HearthError, type Sandbox } from '@hearth/contract'
import { Hearth } from '@hearth/engine'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  defineTool,
  DEFAULT_TOOLS,
  FileEventLog,
  openModel,
  resumeAgent,
  ScriptedModel,
  startAgent,
  type AgentEvent,
  type AgentOptions,
  type AgentRun,
  type Script,
} from '../src/index.ts'

const hearth = new Hearth()
const directory = mkdtempSync(join(tmpdir(), 'hearth-agent-control-'))
let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await hearth.create({ rung: 'simulated' })
})
afterAll(async () => {
  await hearth.dispose()
  rmSync(directory, { recursive: true })
})

let runs = 0
const SUBMIT = { calls: [{ tool: 'submit', input: { summary: 'done' } }] }
const bash = (command: string): Script[number] => ({ calls: [{ tool: 'bash', input: { command } }] })

/** A run in a directory of its own. */
async function start(
  script: Script,
  more: Partial<AgentOptions> = {},
): Promise<{ run: AgentRun; events: AgentEvent[]; workdir: string }> {
  const workdir = `/tmp/run-${runs++}`
  const events: AgentEvent[] = []
  const { onEvent, ...rest } = more
  const run = await startAgent({
    sandbox,
    workdir,
    task: 'Do it.',
    model: new ScriptedModel([...script, SUBMIT, SUBMIT]),
    onEvent: (event) => {
      events.push(event)
      onEvent?.(event)
    },
    ...rest,
  })
  return { run, events, workdir }
}

function ended(events: readonly AgentEvent[]): Extract<AgentEvent, { type: 'tool_ended' }>[] {
  return events.filter((event) => event.type === 'tool_ended')
}

describe('a run', () => {
  it('is paused, steered and resumed', async () => {
    const seen: string[] = []
    const model = new ScriptedModel([bash('echo 1 > one'), bash('echo 2 > two'), SUBMIT])
    const watching = {
      name: 'scripted:watching',
      contextTokens: model.contextTokens,
      call: (request: Parameters<typeof model.call>[0]) => {
        seen.push(request.messages.map((message) => (message.role === 'user' ? message.text : message.role)).join(' '))
        return model.call(request)
      },
    }
    const paused = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<AgentRun>()
    const { run, events } = await start([], {
      model: watching,
      onEvent: (event) => {
        if (event.type === 'tool_started' && event.seq < 5) void begun.promise.then((found) => found.pause())
        if (event.type === 'paused') paused.resolve()
      },
    })
    begun.resolve(run)
    await paused.promise
    expect(seen).toHaveLength(1)
    await run.steer('also say hello')
    run.resume()
    expect(await run.result).toMatchObject({ reason: 'submitted', steps: 3 })
    expect(seen[1]).toBe('Do it. assistant tool also say hello')
    expect(events.map(({ type }) => type)).toEqual(expect.arrayContaining(['paused', 'steered', 'resumed', 'stopped']))
    await expect(run.steer('too late')).rejects.toThrow('has ended')
  })

  it('is stopped at once, with what it did so far', async () => {
    const stopping = Promise.withResolvers<AgentRun>()
    const { run } = await start([bash('echo 1 > one'), bash('sleep 1000')], {
      onEvent: (event) => {
        if (event.type === 'tool_started' && event.seq > 5) void stopping.promise.then((found) => found.stop('enough'))
      },
    })
    stopping.resolve(run)
    expect(await run.result).toMatchObject({
      reason: 'stopped',
      detail: 'enough',
      summary: null,
      diff: { files: [{ path: 'one' }] },
    })
  })

  it('is asked, allowed and forbidden by the last rule that fits', async () => {
    const asked: unknown[] = []
    const { run, events, workdir } = await start(
      [
        bash('echo 1 > one'),
        bash('rm one'),
        bash('git push'),
        { calls: [{ tool: 'write', input: { path: 'x', content: '' } }] },
      ],
      {
        permissions: [
          { tool: '*', action: 'allow' },
          { tool: 'bash', pattern: 'rm *', action: 'deny' },
          { tool: 'bash', pattern: 'git *', action: 'ask' },
          { tool: 'write', action: 'ask' },
        ],
        approve: (call) => {
          asked.push(call.input)
          return Promise.resolve(call.name === 'write')
        },
      },
    )
    await run.result
    expect(ended(events).map(({ outcome }) => outcome)).toEqual(['ok', 'denied', 'denied', 'ok', 'ok'])
    expect(asked).toEqual([{ command: 'git push' }, { path: 'x', content: '' }])
    expect(await sandbox.files.exists(`${workdir}/one`)).toBe(true)
  })

  it('is denied what nobody is there to approve', async () => {
    const { run, events } = await start([bash('echo 1 > one')], { permissions: [{ tool: 'bash', action: 'ask' }] })
    expect((await run.result).reason).toBe('no_change')
    expect(ended(events)[0]).toMatchObject({
      outcome: 'denied',
      observation: 'not allowed: it was not approved; nothing was done',
    })
  })

  it('has hooks before and after each tool, and those that fail deny', async () => {
    const { run, events, workdir } = await start(
      [bash('echo 1 > one'), bash('fail'), bash('deny'), bash('echo 2 > two')],
      {
        permissions: [{ tool: 'bash', pattern: '*changed*', action: 'deny' }],
        hooks: {
          beforeTool: ({ input }) => {
            const { command } = input as { command: string }
            if (command === 'fail') throw new Error('broken')
            if (command === 'deny') return { deny: 'the hook says no' }
            return command.includes('two') ? { input: { command: 'echo changed > two' } } : undefined
          },
          afterTool: ({ name }, { text }) => (name === 'bash' ? `${text} (seen)` : undefined),
        },
      },
    )
    await run.result
    const [first, failed, denied, changed] = ended(events)
    expect(first).toMatchObject({ outcome: 'ok', observation: 'exit code 0\n(no output) (seen)' })
    expect(failed?.observation).toBe('not allowed: the hook before the tool failed: broken; nothing was done')
    expect(denied?.observation).toBe('not allowed: the hook says no; nothing was done')
    // A hook cannot get around a rule.
    expect(changed).toMatchObject({
      outcome: 'denied',
      observation: 'not allowed: a rule forbids it; nothing was done',
    })
    expect(await sandbox.files.exists(`${workdir}/two`)).toBe(false)
  })

  it('has tools of its own, and always the one to submit with', async () => {
    const greet = defineTool({
      name: 'greet',
      description: 'Greets.',
      schema: z.object({ whom: z.string() }),
      subject: ({ whom }) => whom,
      run: ({ whom }) => Promise.resolve({ text: `hello ${whom}` }),
    })
    const { run, events } = await start(
      [
        {
          calls: [
            { tool: 'greet', input: { whom: 'world' } },
            { tool: 'bash', input: { command: 'true' } },
          ],
        },
      ],
      {
        tools: [greet],
      },
    )
    expect((await run.result).reason).toBe('no_change')
    expect(ended(events)[0]?.observation).toBe('hello world')
    expect(ended(events)[1]?.observation).toMatch(/there is no tool "bash"; there are greet, submit/)
    expect(DEFAULT_TOOLS.map(({ name }) => name)).toContain('submit')
  })

  it('has a model that cannot be paid for refused', async () => {
    const model = await openModel('openai-compatible:http://127.0.0.1:1/v1#unknown')
    const refused = start([], { model, budget: { dollars: 1 } })
    await expect(refused).rejects.toThrow('there is no price for openai-compatible')
    await expect(start([], { task: '  ' })).rejects.toThrow('a task has 1 to')
    await expect(openModel('anthropic:x', { environment: {} })).rejects.toThrow('ANTHROPIC_API_KEY is not set')
    for (const wrong of ['', 'claude', 'other:x', 'openai-compatible:x', 'scripted:', 'openai-compatible:ftp://x#y']) {
      await expect(openModel(wrong)).rejects.toSatisfy(
        (error) => HearthError.isInstance(error) && error.code === 'invalid_request',
      )
    }
  })

  it('is begun once and ended once', async () => {
    const file = join(directory, 'log')
    writeFileSync(join(directory, 'script.json'), JSON.stringify([bash('echo 1 > one'), SUBMIT]))
    const options = {
      sandbox,
      model: await openModel(`scripted:${join(directory, 'script.json')}`),
      stateDirectory: join(directory, 'state'),
    }
    {
      await using log = await FileEventLog.open(file)
      await expect(resumeAgent({ ...options, log })).rejects.toThrow('holds no run')
      const run = await startAgent({ ...options, log, task: 'Do it.', workdir: '/tmp/once' })
      expect(await run.result).toMatchObject({ reason: 'submitted', steps: 2 })
      await expect(startAgent({ ...options, log, task: 'Again.', workdir: '/tmp/once' })).rejects.toThrow(
        'holds a run already',
      )
    }
    expect(existsSync(join(directory, 'state', 'HEAD'))).toBe(true)
    await using log = await FileEventLog.open(file)
    const count = (await log.read()).length
    const again = await resumeAgent({ ...options, log })
    expect(await again.result).toMatchObject({ reason: 'submitted', steps: 2, diff: { files: [{ path: 'one' }] } })
    expect(await log.read()).toHaveLength(count)
  })

  it('has a script that is too short as an error, never as a reply', async () => {
    const { run } = await start([], { model: new ScriptedModel([bash('echo 1 > one')]) })
    const result = await run.result
    expect(result).toMatchObject({ reason: 'model_failed', diff: { files: [{ path: 'one' }] } })
    expect(result.detail).toContain('the script has 1 replies')
  })
})
