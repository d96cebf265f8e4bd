import { HearthError, newId, type SandboxView } from '@hearth/contract'
import type { Logger } from 'pino'
import type { Caller, ControlPlane } from '../../../control-plane.ts'
import type { SandboxRows } from '../e2b.ts'
import { MARK_KEY, markOf } from '../mark.ts'
import { putToSleep } from './sleeping.ts'
import { endOf } from './views.ts'

const LONGEST_TIMER_MS = 2 ** 31 - 1

/** Pauses sandboxes whose time is over and which asked for that. */
export class AutoPauses {
  readonly #plane: ControlPlane
  readonly #logger: Logger
  readonly #timers = new Map<string, NodeJS.Timeout>()
  #closed = false

  constructor(plane: ControlPlane, logger: Logger) {
    this.#plane = plane
    this.#logger = logger
  }

  /** After a restart: whatever runs and is to be paused, now or later. */
  async resume(rows: SandboxRows): Promise<void> {
    try {
      for await (const { metadata, ...row } of rows.scan({ states: ['running'] })) {
        if (!(MARK_KEY in metadata) || row.expiresAt === null) continue
        const view = { id: row.id, state: row.state, metadata, expiresAt: new Date(row.expiresAt).toISOString() }
        this.watch(row.tenantId, view)
      }
    } catch (error) {
      this.#logger.warn({ event: 'e2b.auto_pauses', err: error })
    }
  }

  /** Whenever its end may have moved. */
  watch(tenantId: string, view: Pick<SandboxView, 'id' | 'state' | 'expiresAt' | 'metadata'>): void {
    this.forget(view.id)
    if (this.#closed || markOf(view)?.autoPause !== true || view.state !== 'running') return
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

  close(): void {
    this.#closed = true
    for (const id of this.#timers.keys()) this.forget(id)
  }

  async #due(tenantId: string, id: string): Promise<void> {
    const scopes = new Set(['sandbox:write'] as const)
    const caller: Caller = { tenantId, keyId: 'e2b', scopes, requestId: newId('req'), holder: null }
    try {
      const view = await this.#plane.get(caller, id)
      if (endOf(view) > Date.now()) return this.watch(tenantId, view)
      if (view.state === 'running') await putToSleep(this.#plane, caller, view, markOf(view)?.keepMemory ?? true)
    } catch (error) {
      if (HearthError.isInstance(error) && ['sandbox_not_found', 'sandbox_ended'].includes(error.code)) return
      // Its deadline is still there.
      this.#logger.warn({ event: 'e2b.auto_pause', sandbox: id, err: error })
    }
  }
}
