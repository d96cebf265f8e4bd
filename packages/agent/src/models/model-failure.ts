import type { ModelFailureKind } from '@hearth/contract'

const RETRYABLE: ReadonlySet<ModelFailureKind> = new Set(['rate_limited', 'server_error', 'disconnected'])

/** A call of a model that gave no reply. Whatever had arrived of one was thrown away, and nothing of it took effect. */
export class ModelFailure extends Error {
  override readonly name = 'ModelFailure'
  readonly kind: ModelFailureKind
  /** How long the provider asks to wait. */
  readonly retryAfterMs: number | null

  constructor(
    kind: ModelFailureKind,
    message: string,
    options: { cause?: unknown; retryAfterMs?: number | null } = {},
  ) {
    super(message, { cause: options.cause })
    this.kind = kind
    this.retryAfterMs = options.retryAfterMs ?? null
  }

  get retryable(): boolean {
    return RETRYABLE.has(this.kind)
  }
}
