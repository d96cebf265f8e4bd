import type { ErrorCode } from '@hearth/contract'

const marker = Symbol.for('hearth.error')

/** What this side finds out by itself. All other errors come from the server with their suggestion. */
const LOCAL: Partial<Record<ErrorCode, { readonly retryable: boolean; readonly suggestion: string }>> = {
  invalid_request: { retryable: false, suggestion: 'Correct what the message names.' },
  link_lost: {
    retryable: true,
    suggestion: 'Check that the server runs and that `HEARTH_URL` names it, then try again.',
  },
  timeout: { retryable: true, suggestion: 'Allow more time.' },
  aborted: { retryable: false, suggestion: 'The caller gave up.' },
  sandbox_ended: { retryable: false, suggestion: 'Create a new sandbox.' },
  process_not_found: { retryable: false, suggestion: 'The process has ended or its input is closed.' },
  port_refused: { retryable: true, suggestion: 'Connect again if the program in the sandbox still listens.' },
  capability_unsupported: { retryable: false, suggestion: 'The message says what is missing.' },
  file_failed: { retryable: false, suggestion: 'The message says what is wrong with the file.' },
  protocol_violation: {
    retryable: false,
    suggestion: 'Check that the address is a Hearth server, and that server and client are of the same version.',
  },
}

export interface HearthErrorOptions {
  readonly cause?: unknown
  readonly suggestion?: string
  readonly retryable?: boolean
  readonly context?: Readonly<Record<string, unknown>>
  readonly requestId?: string | null
}

/** What every call of this package throws. `isInstance` also knows the errors of the embedded engine. */
export class HearthError extends Error {
  readonly code: ErrorCode
  readonly suggestion: string
  /** True when the same call may work later. */
  readonly retryable: boolean
  /** Typed facts for programs: paths, rungs, reasons. Never a secret. */
  readonly context: Readonly<Record<string, unknown>>
  /** Finds the request in the server's log; null for what never reached it. */
  readonly requestId: string | null
  readonly [marker] = true

  constructor(code: ErrorCode, message: string, options: HearthErrorOptions = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause })
    this.name = 'HearthError'
    this.code = code
    this.suggestion = options.suggestion ?? LOCAL[code]?.suggestion ?? ''
    this.retryable = options.retryable ?? LOCAL[code]?.retryable ?? false
    this.context = options.context ?? {}
    this.requestId = options.requestId ?? null
  }

  static isInstance(value: unknown): value is HearthError {
    return typeof value === 'object' && value !== null && marker in value
  }

  toJSON(): Record<string, unknown> {
    const { code, message, suggestion, retryable, context, requestId } = this
    return { code, message, suggestion, retryable, context, requestId }
  }
}

/** True for an error of Hearth with one of these codes. */
export function hasCode(error: unknown, ...codes: ErrorCode[]): error is HearthError {
  return HearthError.isInstance(error) && codes.includes(error.code)
}

/** The error of a call whose caller gave up. */
export function abortError(signal: AbortSignal): HearthError {
  return new HearthError('aborted', 'the caller gave up', { cause: signal.reason })
}

export function assertNotAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw abortError(signal)
}
