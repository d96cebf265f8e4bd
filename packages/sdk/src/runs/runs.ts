import type {
  AgentEvent,
  BudgetLimits,
  RunId,
  RunInfo,
  RunKeeper,
  RunLease,
  RunLeaseView,
  RunMessage,
  RunMessageKind,
  RunMessageView,
  RunState,
  RunView,
} from '@hearth/contract'
import { checkedId, itemsOf } from '../checks.ts'
import { HearthError } from '../hearth-error.ts'
import type { Connection } from '../sandboxes/sandbox-client.ts'
import type { CallOptions } from '../transport/http-client.ts'
import { followed } from './follow.ts'

export interface NewRun {
  readonly id?: RunId
  readonly task: string
  readonly model: string
  readonly budget: BudgetLimits
  readonly workspace?: string | null
  readonly parent?: RunId | null
  readonly metadata?: Readonly<Record<string, string>>
  /** Who works on it, without spaces: unlike every other process that could. */
  readonly owner: string
  readonly leaseMs?: number
}

export interface RunFilters {
  readonly state?: RunState
  readonly parent?: string
  readonly sandbox?: string
  readonly metadata?: Readonly<Record<string, string>>
  /** Runs per request. */
  readonly limit?: number
  readonly signal?: AbortSignal
}

export interface TakeRun {
  readonly owner: string
  readonly leaseMs?: number
  /** Also from one that may be at work still. */
  readonly force?: boolean
}

/** The runs of agents that the server keeps, of the caller's tenant. */
export class Runs implements RunKeeper {
  readonly #connection: Connection

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** Begins one and takes it. With an identifier it is repeated safely when the connection breaks. */
  async create(run: NewRun, options: CallOptions = {}): Promise<{ run: RunInfo; lease: RunLease }> {
    const repeatable = run.id !== undefined
    const call = { method: 'POST', path: '/runs', json: run, signal: options.signal, repeatable } as const
    const made = await this.#connection.http.json<{ run: RunView; lease: RunLeaseView }>(call)
    return { run: runInfo(made.run), lease: leaseOf(made.lease) }
  }

  async get(run: string, options: CallOptions = {}): Promise<RunInfo> {
    const call = { method: 'GET', path: pathOf(run), signal: options.signal } as const
    return runInfo(await this.#connection.http.json<RunView>(call))
  }

  /** All that fit, newest first, page by page as they are asked for. */
  async *list(filters: RunFilters = {}): AsyncGenerator<RunInfo, void> {
    const { state, parent, sandbox, limit, signal } = filters
    const metadata = Object.entries(filters.metadata ?? {}).map(([key, value]) => [`metadata.${key}`, value] as const)
    let cursor: string | undefined
    do {
      const query = { state, parent, sandbox, limit, cursor, ...Object.fromEntries(metadata) }
      const call = { method: 'GET', path: '/runs', query, signal } as const
      const body: { next?: string | null } = await this.#connection.http.json(call)
      for (const view of itemsOf<RunView>(body)) yield runInfo(view)
      cursor = body.next ?? undefined
    } while (cursor !== undefined)
  }

  /** The right to go on with it. `conflict` while another has it. */
  async take(run: string, options: TakeRun & CallOptions): Promise<RunLease> {
    const { signal, ...json } = options
    return await this.#lease(run, json, signal)
  }

  async renew({ run, lease }: RunLease): Promise<RunLease> {
    return await this.#lease(run, { lease })
  }

  async release({ run, lease }: RunLease): Promise<void> {
    const call = { method: 'DELETE', path: `${pathOf(run)}/lease`, query: { lease }, repeatable: true } as const
    await this.#connection.http.done(call)
  }

  async append(run: string, lease: number, events: readonly AgentEvent[]): Promise<void> {
    const call = { method: 'POST', path: `${pathOf(run)}/events`, json: { lease, events }, repeatable: true } as const
    await this.#connection.http.done(call)
  }

  async *events(run: string, after = 0): AsyncGenerator<AgentEvent, void> {
    let from = after
    for (;;) {
      const call = { method: 'GET', path: `${pathOf(run)}/events`, query: { from, limit: 1000 } } as const
      const page = await this.#connection.http.json<{ next: number; end: boolean }>(call)
      yield* itemsOf<AgentEvent>(page)
      if (page.end || page.next <= from) return
      from = page.next
    }
  }

  /** Events as they happen, to the end of the run, over as many connections as it takes: each once, and in order. */
  async *follow(run: string, options: { readonly from?: number } & CallOptions = {}): AsyncGenerator<AgentEvent, void> {
    let from = options.from ?? 0
    const stream = followed<AgentEvent>(this.#connection, 'events', options.signal, () => ({
      path: `${pathOf(run)}/events`,
      query: { from },
    }))
    for await (const event of stream) {
      if (!Number.isSafeInteger(event.seq)) throw incomplete()
      if (event.seq < from) continue
      from = event.seq + 1
      yield event
      if (event.type === 'result') return
    }
  }

  /** What it is told, as it comes, until the signal. */
  async *messages(run: string, after: number, signal: AbortSignal): AsyncGenerator<RunMessage, void> {
    let last = after
    const stream = followed<RunMessageView>(this.#connection, 'messages', signal, () => ({
      path: `${pathOf(run)}/messages`,
      query: { after: last },
    }))
    for await (const view of stream) {
      if (!Number.isSafeInteger(view.number)) throw incomplete()
      if (view.number <= last) continue
      last = view.number
      yield messageOf(view)
    }
  }

  /** Tells it something. Not repeated by itself when the connection breaks: it may have been told. */
  async tell(run: string, kind: RunMessageKind, text = '', options: CallOptions = {}): Promise<RunMessage> {
    const call = {
      method: 'POST',
      path: `${pathOf(run)}/messages`,
      json: { kind, text },
      signal: options.signal,
    } as const
    return messageOf(await this.#connection.http.json<RunMessageView>(call))
  }

  async #lease(run: string, json: object, signal?: AbortSignal): Promise<RunLease> {
    const call = { method: 'POST', path: `${pathOf(run)}/lease`, json, signal, repeatable: true } as const
    return leaseOf(await this.#connection.http.json<RunLeaseView>(call))
  }
}

function pathOf(run: string): string {
  return `/runs/${checkedId(run, 'run')}`
}

function runInfo(view: RunView): RunInfo {
  if (typeof view !== 'object' || view === null || typeof view.id !== 'string') throw incomplete()
  const { driver, createdAt, updatedAt, id, parent, ...rest } = view
  return {
    ...rest,
    id: id as RunId,
    parent: parent as RunId | null,
    driver: driver === null ? null : { owner: driver.owner, until: new Date(driver.until) },
    createdAt: new Date(createdAt),
    updatedAt: new Date(updatedAt),
  }
}

function leaseOf({ run, lease, until }: RunLeaseView): RunLease {
  return { run: run as RunId, lease, until: new Date(until) }
}

function messageOf(view: RunMessageView): RunMessage {
  return { ...view, at: new Date(view.at) }
}

function incomplete(): HearthError {
  return new HearthError('protocol_violation', 'the server answered something else than what was asked for')
}
