import type { CreateSandbox, Sandbox, SandboxState, SandboxView, Scope, Rung } from '@hearth/contract'
import type { RungReport } from '@hearth/engine'

/** Who calls: found by the key, once per request. What it may see and do follows from this alone. */
export interface Caller {
  readonly tenantId: string
  readonly keyId: string
  readonly scopes: ReadonlySet<Scope>
  readonly requestId: string
}

export interface ListQuery {
  readonly limit: number
  readonly cursor: string | null
  readonly state: SandboxState | null
  readonly rung: Rung | null
  readonly metadata: Readonly<Record<string, string>>
}

export interface Page<Item> {
  readonly items: readonly Item[]
  /** Passed as `cursor` for the next page; null at the end. */
  readonly next: string | null
}

/** A sandbox in use: it is awake, it counts as active, and idleness cannot end it until it is let go. */
export interface SandboxUse extends Disposable {
  readonly sandbox: Sandbox
}

/**
 * What the API and the dialects call. Each method checks that the sandbox is the caller's: another tenant's is
 * `sandbox_not_found`. Scopes are checked by the caller of this interface, tenancy here.
 */
export interface ControlPlane {
  /** The same key with the same request gives the same sandbox; with another request, `idempotency_conflict`. */
  create(
    caller: Caller,
    request: CreateSandbox,
    options: { idempotencyKey: string | null; signal: AbortSignal },
  ): Promise<SandboxView>
  get(caller: Caller, id: string): Promise<SandboxView>
  list(caller: Caller, query: ListQuery): Promise<Page<SandboxView>>
  renew(caller: Caller, id: string, ttlMs: number): Promise<SandboxView>
  /** Freezes all processes; idempotent. The next use wakes it. */
  pause(caller: Caller, id: string): Promise<SandboxView>
  resume(caller: Caller, id: string): Promise<SandboxView>
  /**
   * Ends it and frees all that it holds, its disk too; idempotent. It can still be looked at for a while, and says why it ended: that is
   * all that is left of it, and nothing brings it back.
   */
  stop(caller: Caller, id: string): Promise<SandboxView>
  /** Ends it and removes it; idempotent. */
  delete(caller: Caller, id: string): Promise<void>
  /** For every call that reaches into a sandbox. Wakes a paused one. Dispose when the call is over. */
  use(caller: Caller, id: string): Promise<SandboxUse>
  rungs(): Promise<readonly RungReport[]>
}
