import type { EmbeddedSandbox } from '@hearth/engine'
import type { SandboxRecord } from '../state/index.ts'

/** Node's timers hold at most this; a longer wait looks again in between. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

export interface IdleListener {
  /** Nobody has used it for its idle time. */
  idle(live: LiveSandbox): void
  /** Its deadline came while it had no machine to keep it. */
  expired(live: LiveSandbox): void
  /** It has no machine any more. */
  removed(live: LiveSandbox): void
}

/**
 * A sandbox that has, or is about to have, a machine on this host. Only this process changes its row, so the record here is
 * what the database holds.
 */
export class LiveSandbox {
  /** The row as it was last written. Changed only in turn. */
  record: SandboxRecord
  /** Null while it is being made, and after a restart until it is taken up again. */
  machine: EmbeddedSandbox | null = null
  /** Abandons the create that is under way. */
  readonly abandoned = new AbortController()
  readonly #listener: IdleListener
  #turn: Promise<unknown> = Promise.resolve()
  #waking: Promise<EmbeddedSandbox> | null = null
  #uses = 0
  #lastActiveAt: number
  #writtenActiveAt: number
  #idleTimer: NodeJS.Timeout | undefined
  #deadlineTimer: NodeJS.Timeout | undefined

  constructor(record: SandboxRecord, listener: IdleListener) {
    this.record = record
    this.#listener = listener
    this.#lastActiveAt = record.lastActiveAt
    this.#writtenActiveAt = record.lastActiveAt
  }

  /** Changes of one sandbox come one after the other. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#turn.then(work)
    this.#turn = mine.catch(() => undefined)
    return mine
  }

  /** Resolves when no change is under way. */
  async settled(): Promise<void> {
    let last: Promise<unknown> | null = null
    while (last !== this.#turn) {
      last = this.#turn
      await last
    }
  }

  /** However many ask for it, it is woken once. */
  woken(wake: () => Promise<EmbeddedSandbox>): Promise<EmbeddedSandbox> {
    this.#waking ??= this.inTurn(wake).finally(() => {
      this.#waking = null
    })
    return this.#waking
  }

  get inUse(): boolean {
    return this.#uses > 0
  }

  /** It cannot become idle until this is disposed of. */
  use(): Disposable {
    let over = false
    this.#uses++
    this.#lastActiveAt = Date.now()
    clearTimeout(this.#idleTimer)
    return {
      [Symbol.dispose]: () => {
        if (over) return
        over = true
        this.#uses--
        this.#lastActiveAt = Date.now()
        this.watchIdleness()
      },
    }
  }

  /** Starts to wait for its idle time, where it has one. */
  watchIdleness(): void {
    clearTimeout(this.#idleTimer)
    const { idleMs, state } = this.record
    if (idleMs === null || this.inUse || state !== 'running') return
    const left = this.#lastActiveAt + idleMs - Date.now()
    this.#idleTimer = setTimeout(
      () => {
        if (this.isIdle) this.#listener.idle(this)
        else this.watchIdleness()
      },
      Math.min(Math.max(left, 0), LONGEST_TIMER_MS),
    ).unref()
  }

  get isIdle(): boolean {
    const { idleMs, state } = this.record
    return idleMs !== null && state === 'running' && !this.inUse && Date.now() >= this.#lastActiveAt + idleMs
  }

  /** Starts to wait for the deadline of one that is hibernated; a machine waits for its own. */
  watchDeadline(): void {
    clearTimeout(this.#deadlineTimer)
    const { expiresAt, state } = this.record
    if (expiresAt === null || state !== 'hibernated') return
    this.#deadlineTimer = setTimeout(
      () => {
        if (Date.now() >= expiresAt) this.#listener.expired(this)
        else this.watchDeadline()
      },
      Math.min(Math.max(expiresAt - Date.now(), 0), LONGEST_TIMER_MS),
    ).unref()
  }

  /** The time of the last activity, if the database does not know it yet. */
  takeActivity(): number | null {
    const at = this.inUse ? Date.now() : this.#lastActiveAt
    if (at <= this.#writtenActiveAt) return null
    this.#writtenActiveAt = at
    return at
  }

  /** No timer of it goes off any more. */
  retire(): void {
    clearTimeout(this.#idleTimer)
    clearTimeout(this.#deadlineTimer)
  }
}
