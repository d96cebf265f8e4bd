import { BOUNDS, HearthError, newId, type SandboxView } from '@hearth/contract'
import type { Logger } from 'pino'
import type { Caller, ControlPlane } from '../../../control-plane.ts'
import type { EventRepository, SandboxRecord, StoredEvent } from '../../../state/index.ts'
import type { SandboxRows } from '../e2b.ts'
import { MARK_KEY, markOf } from '../mark.ts'
import { endAfter, putToSleep, resumedMs } from './sleeping.ts'
import { endOf, type Timed } from './views.ts'

const LONGEST_TIMER_MS = 2 ** 31 - 1
/** Other APIs do these too. */
const MOVES = new Set(['sandbox.renewed', 'sandbox.resumed', 'sandbox.woken'])
/** Between the deadline that a pause sets and its event. */
const TOLERANCE_MS = 60_000

interface Parts {
  readonly plane: ControlPlane
  readonly logger: Logger
  readonly sandboxes: SandboxRows
  readonly events: Pick<EventRepository, 'page'>
}

type Watched = Timed & Pick<SandboxView, 'id'>

/** Pauses sandboxes whose time is over and which asked for that, whoever has moved their end. */
export class AutoPauses {
  readonly #parts: Parts
  readonly #timers = new Map<string, NodeJS.Timeout>()
  /** Which are being woken here, and by how many: their end is set by whoever wakes them. */
  readonly #waking = new Map<string, number>()
  #closed = false

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** After a restart: whatever runs and is to be paused, now or later. */
  async resume(): Promise<void> {
    try {
      for await (const row of this.#parts.sandboxes.scan({ states: ['running'] })) {
        if (MARK_KEY in row.metadata) this.watch(row.tenantId, watched(row))
      }
    } catch (error) {
      this.#parts.logger.warn({ event: 'e2b.auto_pauses', err: error })
    }
  }

  /** Whenever its end may have moved. */
  watch(tenantId: string, view: Watched): void {
    this.forget(view.id)
    if (this.#closed || markOf(view)?.autoPause !== true || view.state !== 'running' || view.expiresAt === null) return
    const timer = setTimeout(
      () => void this.#due(tenantId, view.id),
      Math.min(Math.max(0, endOf(view) - Date.now()), LONGEST_TIMER_MS),
    )
    this.#timers.set(view.id, timer.unref())
  }

  forget(id: string): void {
    clearTimeout(this.#timers.get(id))
    this.#timers.delete(id)
  }

  async waking<T>(id: string, work: () => Promise<T>): Promise<T> {
    this.#waking.set(id, (this.#waking.get(id) ?? 0) + 1)
    try {
      return await work()
    } finally {
      const others = (this.#waking.get(id) ?? 1) - 1
      if (others === 0) this.#waking.delete(id)
      else this.#waking.set(id, others)
    }
  }

  /** Events that were just written: what other APIs do with sandboxes of this dialect. */
  take(events: readonly StoredEvent[]): void {
    for (const event of events) {
      if (this.#closed || event.sandboxId === null || this.#waking.has(event.sandboxId)) continue
      // A fork has the metadata of its parent.
      const { metadata } = event.data
      const isCopy = event.type === 'sandbox.created' && typeof metadata === 'object' && MARK_KEY in (metadata ?? {})
      if (isCopy || MOVES.has(event.type)) void this.#follow(event.sandboxId, event)
    }
  }

  close(): void {
    this.#closed = true
    for (const id of this.#timers.keys()) this.forget(id)
  }

  async #follow(id: string, event: StoredEvent): Promise<void> {
    try {
      const row = await this.#parts.sandboxes.find(id)
      if (row === null || !(MARK_KEY in row.metadata)) return
      const view = watched(row)
      if (event.type === 'sandbox.created') return this.watch(row.tenantId, { ...view, state: 'running' })
      if (event.type === 'sandbox.renewed' || row.state !== 'running' || !(await this.#isParked(event))) {
        return this.watch(row.tenantId, view)
      }
      // Its deadline was moved far away for the time that it is paused: now its time goes on.
      const { plane } = this.#parts
      const caller = callerOf(row.tenantId)
      this.watch(row.tenantId, await endAfter(plane, caller, await plane.get(caller, id), resumedMs(view)))
    } catch (error) {
      this.#failed('e2b.auto_pauses', id, error)
    }
  }

  /** Whether the last who moved its deadline was a pause of this dialect. */
  async #isParked({ tenantId, sandboxId, seq }: StoredEvent): Promise<boolean> {
    if (sandboxId === null) return false
    const query = { tenantId, sandboxId, types: ['sandbox.renewed'], before: seq, limit: 1 }
    const [last] = (await this.#parts.events.page(query)).events
    if (last === undefined || last.data['state'] === 'running') return false
    const given = Date.parse(String(last.data['expiresAt'])) - last.at
    return Math.abs(given - BOUNDS.maximumTtlMs) < TOLERANCE_MS
  }

  async #due(tenantId: string, id: string): Promise<void> {
    const { plane } = this.#parts
    const caller = callerOf(tenantId)
    try {
      const view = await plane.get(caller, id)
      if (endOf(view) > Date.now()) return this.watch(tenantId, view)
      if (view.state === 'running') await putToSleep(plane, caller, view, markOf(view)?.keepMemory ?? true)
    } catch (error) {
      // Its deadline is still there.
      this.#failed('e2b.auto_pause', id, error)
    }
  }

  #failed(event: string, sandbox: string, error: unknown): void {
    if (HearthError.isInstance(error) && ['sandbox_not_found', 'sandbox_ended'].includes(error.code)) return
    this.#parts.logger.warn({ event, sandbox, err: error })
  }
}

function callerOf(tenantId: string): Caller {
  return { tenantId, keyId: 'e2b', scopes: new Set(['sandbox:write'] as const), requestId: newId('req'), holder: null }
}

function watched({ id, state, metadata, createdAt, expiresAt }: SandboxRecord): Watched {
  const end = expiresAt === null ? null : new Date(expiresAt).toISOString()
  return { id, state, metadata, createdAt: new Date(createdAt).toISOString(), expiresAt: end }
}
