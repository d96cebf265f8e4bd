import { expect, it } from 'vitest'
import type { AgentEvent } from '@hearth/agent'
import { LiveView } from './live-view.ts'

const budget = { steps: 60, tokens: 5_000_000, dollars: 5, wallTimeMs: 3_600_000 }
const begin = { type: 'started', run: 'r', task: 't', model: 'm', workdir: '/w', verify: null, budget } as const
const EVENTS: AgentEvent[] = [
  { ...begin, base: { missing: 'none' }, seq: 0, at: Date.now() },
  { type: 'model_called', turn: 0, seq: 1, at: Date.now() },
  { type: 'tool_started', id: '1', name: 'bash', input: { command: 'npm test \u001b[2J' }, seq: 2, at: Date.now() },
]

function stream(isTTY: boolean, size = { columns: 100, rows: 24 }): { written: string; stream: NodeJS.WriteStream } {
  const found = { written: '', stream: {} as NodeJS.WriteStream }
  const write = (text: string): boolean => ((found.written += text), true)
  found.stream = { isTTY, ...size, write } as unknown as NodeJS.WriteStream
  return found
}

it('has a line for each branch of the work, below what happened', () => {
  const terminal = stream(true)
  using view = new LiveView(terminal.stream)
  for (const event of EVENTS) view.event(event, '1')
  view.event(EVENTS[0] as AgentEvent, '2')
  const last = terminal.written.split('\r\u001b[K').at(-1) ?? ''
  expect(last).toMatch(
    /\[1\] step 1\/60 · 0\/5\.0M tokens · \$0\.00\/\$5 · 0:00\/60:00 · bash npm test .*\n\[2\] step 0\/60/,
  )
  expect(last).not.toContain('\u001b[2J')
})

it('has no more lines than the window, and none that goes on in the next', () => {
  const terminal = stream(true, { columns: 80, rows: 4 })
  using view = new LiveView(terminal.stream)
  const wide = { type: 'tool_started', id: '1', name: 'bash', input: { command: '你好'.repeat(40) } } as const
  for (let branch = 1; branch <= 6; branch++) {
    for (const event of EVENTS.slice(0, 2)) view.event(event, String(branch))
    view.event({ ...wide, seq: 2, at: Date.now() }, String(branch))
  }
  // The last thing that happened scrolls by above them.
  const last = (terminal.written.split('\r\u001b[K').at(-1) ?? '').split('\n').slice(1)
  expect(last).toEqual([
    expect.stringMatching(/^\[1\] step /),
    expect.stringMatching(/^\[2\] /),
    '4 more in a higher window',
  ])
  expect(last[0]).toMatch(/bash 你+$|bash (你好)+你?$/)
  expect((last[0] ?? '').replaceAll(/[你好]/g, '--').length).toBeLessThan(80)
})

it('has a line for each sub-agent, and counts what it uses for its run too', () => {
  const terminal = stream(true)
  using view = new LiveView(terminal.stream)
  const at = Date.now()
  const inner = EVENTS.slice(0, 2).map((event) => event as Extract<AgentEvent, { type: 'started' | 'model_called' }>)
  view.event(EVENTS[0] as AgentEvent)
  for (const [index, event] of inner.entries()) {
    view.event({ type: 'sub_agent', call: '1', runs: ['run_1234'], event, seq: index + 1, at })
  }
  expect(terminal.written).toContain('[sub-agent 1234] begins: t\n')
  const last = terminal.written.split('\r\u001b[K').at(-1) ?? ''
  expect(last).toMatch(/^step 1\/60 .*\n\[sub-agent 1234\] step 1\/60 .* thinks/)
})

it('is lines alone where there is no terminal', () => {
  const file = stream(false)
  using view = new LiveView(file.stream)
  for (const event of EVENTS) view.event(event)
  expect(file.written).toBe('m works in /w\n> bash npm test \\u001b[2J\n')
})
