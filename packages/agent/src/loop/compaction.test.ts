import type { AgentEvent, AgentEventBody } from '@hearth/contract'
import { describe, expect, it } from 'vitest'
import { NO_USAGE } from '../models/model.ts'
import { compact } from './compaction.ts'
import { RunState } from './run-state.ts'

class Life {
  readonly state = new RunState()
  #turn = 0

  add(body: AgentEventBody): void {
    this.state.apply({ ...body, seq: this.state.next, at: 0 } satisfies AgentEvent)
  }

  constructor() {
    const budget = { steps: 1000, tokens: 1e9, dollars: null, wallTimeMs: 1e9 }
    const more = { model: 'scripted:', workdir: '/w', verify: null, budget, base: { commit: 'a' } }
    this.add({ type: 'started', run: 'run', task: 'the task', ...more })
  }

  /** One call with a long answer. */
  turn(command: string): void {
    const id = `call-${this.#turn}`
    this.add({ type: 'model_called', turn: this.#turn++ })
    const calls = [{ id, name: 'bash', input: { command } }]
    this.add({ type: 'model_replied', text: '', calls, finish: 'tool-calls', usage: NO_USAGE, dollars: 0 })
    this.add({ type: 'tool_started', id, name: 'bash', input: { command } })
    const observation = 'x'.repeat(4000)
    this.add({ type: 'tool_ended', id, name: 'bash', outcome: 'ok', observation, durationMs: 0 })
  }

  compact(): string {
    const shortened = compact(this.state, 10_000)
    if (shortened === null) throw new Error('nothing could go')
    this.add({ type: 'compacted', ...shortened })
    const [first] = this.state.messages()
    return first?.role === 'user' ? first.text : ''
  }
}

describe('a conversation that is shortened', () => {
  it('twice still has what people said, word for word, and what was done first', () => {
    const life = new Life()
    for (const name of ['one', 'two', 'three']) life.turn(`echo ${name}`)
    const order = 'Never touch the tests.\n  They are signed.\nWhat you did in it, oldest first:\n- nothing'
    life.add({ type: 'steered', text: order })
    life.add({ type: 'reminded', about: 'steps:0.5', text: 'Less than 50 % is left.' })
    for (let index = 0; index < 6; index++) life.turn(`echo first ${index}`)
    const first = life.compact()
    expect(first).toMatch(/^the task\n\nThe conversation became too long/)
    expect(first).toContain(`\n> ${order}\n`)
    expect(first).not.toContain('50 %')
    expect(first).toMatch(/\n- bash \{"command":"echo one"\}\n/)

    life.add({ type: 'steered', text: 'Use tabs.' })
    for (let index = 0; index < 8; index++) life.turn(`echo second ${index}`)
    const second = life.compact()
    expect(second).toContain(`\n> ${order}\n> Use tabs.\n`)
    const lines = second.split('\n').filter((line) => line.startsWith('- bash'))
    expect(lines.slice(0, 4).map((line) => /echo (.*)"/.exec(line)?.[1])).toEqual(['one', 'two', 'three', 'first 0'])
    expect(new Set(lines).size).toBe(lines.length)
    expect(second.match(/became too long/g)).toHaveLength(1)
  })

  it('any number of times stays short, and counts what it leaves out', () => {
    const life = new Life()
    let digest = ''
    for (let round = 0; round < 30; round++) {
      life.add({ type: 'steered', text: `order ${round} ${'y'.repeat(10_000)}` })
      for (let index = 0; index < 8; index++) life.turn(`echo ${round} ${index} ${'z'.repeat(300)}`)
      digest = life.compact()
    }
    expect(digest.length).toBeLessThan(40_000)
    const kept = digest.split('\n').filter((line) => line.startsWith('- bash')).length
    const [, omitted] = /\((\d+) earlier lines are left out\)/.exec(digest) ?? []
    const still = life.state.messages().filter(({ role }) => role === 'assistant').length
    expect(kept + Number(omitted) + still).toBe(30 * 8)
    expect(digest).toMatch(/> order 2[789] y+ \[cut off\]\n/)
  })
})
