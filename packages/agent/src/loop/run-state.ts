import {
  HearthError,
  NO_PROGRESS,
  progressOf,
  type AgentEvent,
  type Finish,
  type RunProgress,
  type Spent,
  type ToolOutcome,
} from '@hearth/contract'
import type { Message, ToolAnswer, ToolCall } from '../models/model.ts'
import { SubAgents } from './sub-agents.ts'

type Started = Extract<AgentEvent, { type: 'started' }>
type Forked = Extract<AgentEvent, { type: 'forked' }>
type Stopped = Extract<AgentEvent, { type: 'stopped' }>
type Result = Extract<AgentEvent, { type: 'result' }>
type Submitted = Extract<AgentEvent, { type: 'submitted' }>

export interface PendingCall {
  readonly call: ToolCall
  /** What it was started with, when it was: how it ended was never written down. */
  readonly begun: { readonly input: unknown } | null
}

/** A call and what came of it, for finding out whether the model goes round in circles. */
export interface PastCall {
  readonly call: string
  readonly observation: string
  readonly outcome: ToolOutcome
}

interface Turn {
  readonly seq: number
  readonly messages: Message[]
  /** What people said in it. */
  readonly told: readonly string[]
  readonly calls: { readonly call: ToolCall; answer: ToolAnswer | null; begun: PendingCall['begun'] }[]
}

const REMEMBERED_CALLS = 24

/** What a run has come to: nothing but the sum of its events, so that it is the same for whoever reads them. */
export class RunState {
  started: Started | null = null
  /** The identifier of the run: a fork has one of its own. */
  run = ''
  /** What it was forked of. */
  parent: Forked['parent'] | null = null
  stopped: Stopped | null = null
  result: Result | null = null
  submission: Submitted | null = null
  /** Submissions that were not accepted. */
  refusals = 0
  next = 0
  replies = 0
  /** It was shortened, and no reply has come since: to do it again would change nothing. */
  compactedSinceReply = false
  lastFinish: Finish = 'stop'
  /** Replies in a row without any call, and in a row with nothing but malformed ones. */
  silent = 0
  malformed = 0
  /** Tokens of the whole conversation as the model counted them last. */
  contextTokens = 0
  readonly reminded = new Set<string>()
  readonly processes = new Set<number>()
  readonly past: PastCall[] = []
  readonly subAgents = new SubAgents()
  /** What the model is told of what was removed, and what people said in that. */
  digest = ''
  readonly toldBefore: string[] = []
  #turns: Turn[] = []
  #inbox: { readonly text: string; readonly told: boolean }[] = []
  #progress: RunProgress = NO_PROGRESS

  get paused(): boolean {
    return this.#progress.state === 'paused'
  }

  /** The number of the last message of a person that took effect. */
  get message(): number {
    return this.#progress.message
  }

  /** Up to this instant, for a run that is being worked on. */
  spentAt(now: number): Spent {
    const { spent, lastAt, state } = this.#progress
    const since = lastAt === null || state !== 'running' ? 0 : Math.max(0, now - lastAt)
    return { ...spent, wallTimeMs: spent.wallTimeMs + since }
  }

  get pending(): readonly PendingCall[] {
    const calls = this.#turns.at(-1)?.calls ?? []
    return calls.filter(({ answer }) => answer === null)
  }

  /** Of the answers to the last reply so far. */
  get answeredCharacters(): number {
    const calls = this.#turns.at(-1)?.calls ?? []
    return calls.reduce((sum, { answer }) => sum + (answer?.text.length ?? 0), 0)
  }

  /** The whole turns of the conversation, oldest first, with the numbers of their replies. */
  get turns(): readonly (Pick<Turn, 'seq' | 'told'> & { readonly messages: readonly Message[] })[] {
    return this.#turns.map(({ seq, messages, told, calls }) => {
      const answers = calls.flatMap(({ answer }) => answer ?? [])
      return {
        seq,
        told,
        messages: answers.length === 0 ? messages : [...messages, { role: 'tool' as const, answers }],
      }
    })
  }

  messages(): Message[] {
    return this.turns.flatMap(({ messages }) => messages)
  }

  apply(event: AgentEvent): void {
    const progress = progressOf(this.#progress, event)
    if (progress === null)
      throw new HearthError('invalid_request', `a run cannot have the event ${event.type} as its ${event.seq}.`)
    this.#progress = progress
    this.next = event.seq + 1
    switch (event.type) {
      case 'started':
        this.started = event
        this.run = event.run
        this.#turns = [{ seq: event.seq, messages: [{ role: 'user', text: event.task }], told: [], calls: [] }]
        break
      case 'forked':
        this.run = event.run
        this.parent = event.parent
        if (!event.memory) this.processes.clear()
        break
      case 'steered':
        this.#inbox.push({ text: event.text, told: true })
        break
      case 'reminded':
        this.reminded.add(event.about)
        this.#inbox.push({ text: event.text, told: false })
        break
      case 'model_called':
        this.#deliver(event.seq)
        break
      case 'paused':
      case 'resumed':
      case 'model_failed':
        break
      case 'model_replied':
        this.#reply(event)
        break
      case 'tool_started':
        this.#callOf(event.id, (call) => (call.begun = { input: event.input }))
        break
      case 'tool_ended':
        this.#end(event)
        break
      case 'compacted':
        this.#compact(event.keptFrom, event.digest)
        break
      case 'sub_agent':
      case 'brought_back':
        this.subAgents.apply(event)
        break
      case 'submitted':
        this.submission = event
        if (!event.accepted) this.refusals++
        break
      case 'stopped':
        this.stopped = event
        break
      case 'result':
        this.result = event
        break
    }
  }

  /** Messages reach the model before its next reply, never between a call and its answer. */
  #deliver(seq: number): void {
    if (this.#inbox.length === 0) return
    const messages = this.#inbox.map(({ text }) => ({ role: 'user' as const, text }))
    const told = this.#inbox.flatMap(({ text, told: byPerson }) => (byPerson ? [text] : []))
    this.#turns.push({ seq, messages, told, calls: [] })
    this.#inbox = []
  }

  #reply(event: Extract<AgentEvent, { type: 'model_replied' }>): void {
    this.replies++
    this.compactedSinceReply = false
    this.contextTokens = event.usage.inputTokens + event.usage.outputTokens
    this.lastFinish = event.finish
    this.silent = event.calls.length === 0 ? this.silent + 1 : 0
    const { text, calls } = event
    const replay = event.replay === undefined ? {} : { replay: event.replay }
    const message: Message = { role: 'assistant', text, calls, ...replay }
    const open = calls.map((call) => ({ call, answer: null, begun: null }))
    this.#turns.push({ seq: event.seq, messages: [message], told: [], calls: open })
  }

  #end(event: Extract<AgentEvent, { type: 'tool_ended' }>): void {
    if (event.process !== undefined) this.processes.add(event.process)
    this.#callOf(event.id, (open) => {
      open.answer = { id: event.id, name: event.name, text: event.observation }
      const call = JSON.stringify([event.name, open.call.input])
      this.past.push({ call, observation: event.observation, outcome: event.outcome })
      if (this.past.length > REMEMBERED_CALLS) this.past.shift()
    })
    this.subAgents.ended(event.id)
    this.malformed = event.outcome === 'malformed' ? this.malformed + 1 : 0
  }

  #callOf(id: string, change: (call: Turn['calls'][number]) => void): void {
    const call = this.#turns.at(-1)?.calls.find((one) => one.call.id === id && one.answer === null)
    if (call !== undefined) change(call)
  }

  #compact(keptFrom: number, digest: string): void {
    const kept = this.#turns.filter(({ seq }) => seq >= keptFrom)
    for (const { seq, told } of this.#turns) if (seq < keptFrom) this.toldBefore.push(...told)
    const task = this.started?.task ?? ''
    const messages = [{ role: 'user' as const, text: `${task}\n\n${digest}` }]
    this.#turns = [{ seq: 0, messages, told: [], calls: [] }, ...kept]
    this.digest = digest
    this.compactedSinceReply = true
    this.contextTokens = 0
  }
}
