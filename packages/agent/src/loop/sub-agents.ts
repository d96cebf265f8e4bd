import type { AgentEvent, BroughtBack } from '@hearth/contract'

type Result = Extract<AgentEvent, { type: 'result' }>

/** A sub-agent of a call that is under way. */
export interface SubAgentState {
  readonly run: string
  readonly task: string
  /** What came of it; null while it works, and for one that died with its process. */
  result: Result | null
  /** What became of its change; null when that was not written down. */
  broughtBack: BroughtBack | null
}

/** The sub-agents of a run, as its events tell of them. Of calls that have ended only the number is remembered. */
export class SubAgents {
  readonly #ofCalls = new Map<string, SubAgentState[]>()
  #count = 0

  /** All that there ever were, also those of sub-agents. */
  get count(): number {
    return this.#count
  }

  of(call: string): readonly SubAgentState[] {
    return this.#ofCalls.get(call) ?? []
  }

  apply(event: Extract<AgentEvent, { type: 'sub_agent' | 'brought_back' }>): void {
    if (event.type === 'sub_agent') this.#happened(event)
    else this.#broughtBack(event)
  }

  #happened({ call, runs, event }: Extract<AgentEvent, { type: 'sub_agent' }>): void {
    if (event.type === 'started') this.#count++
    const [run = ''] = runs
    if (runs.length > 1) return
    const known = this.#ofCalls.get(call) ?? []
    this.#ofCalls.set(call, known)
    if (event.type === 'started') known.push({ run, task: event.task, result: null, broughtBack: null })
    const found = known.find((one) => one.run === run)
    if (event.type === 'result' && found !== undefined) found.result = { ...event }
  }

  #broughtBack({ run, outcome }: Extract<AgentEvent, { type: 'brought_back' }>): void {
    const found = [...this.#ofCalls.values()].flat().find((one) => one.run === run)
    if (found !== undefined) found.broughtBack = outcome
  }

  ended(call: string): void {
    this.#ofCalls.delete(call)
  }
}
