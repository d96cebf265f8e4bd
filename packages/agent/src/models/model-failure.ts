import type { ModelFailureKind } from '@hearth/contract'
import type { Usage } from './model.ts'

const RETRYABLE: ReadonlySet<ModelFailureKind> = new Set(['rate_limited', 'server_error', 'disconnected'])

/** A call of a model that gave no reply. Whatever had arrived of one was thrown away, and nothing of it took effect; it was paid for all the same. */
export class ModelFailure extends Error {
  override readonly name = 'ModelFailure'
  readonly kind: ModelFailureKind
  /** How long the provider asks to wait. */
  readonly retryAfterMs: number | null
  /** What was used of a reply that broke off; null when none had begun. */
  readonly usage: Usage | null

  constructor(
    kind: ModelFailureKind,
    message: string,
    options: { cause?: unknown; retryAfterMs?: number | null; usage?: Usage | null } = {},
  ) {
    super(message, { cause: options.cause })
    this.kind = kind
    this.retryAfterMs = options.retryAfterMs ?? null
    this.usage = options.usage ?? null
  }

  get retryable(): boolean {
    return RETRYABLE.has(this.kind)
  }
}
