import { HearthError } from '@hearth/sdk'

/** What a person or a program is told when a command of Hearth fails. */
export interface Failure {
  readonly code: string
  readonly message: string
  readonly suggestion: string
  readonly retryable: boolean
}

export function failureOf(error: unknown): Failure {
  if (HearthError.isInstance(error)) {
    const { code, message, suggestion, retryable } = error
    return { code, message, suggestion, retryable }
  }
  // What went wrong first is the reason; that its clean-up failed too is not.
  if (error instanceof SuppressedError) return failureOf(error.suppressed)
  const message = error instanceof Error ? error.message : String(error)
  return { code: 'internal', message, suggestion: 'This is a bug in Hearth.', retryable: false }
}

/** One JSON object for programs, two lines for people. Always on standard error. */
export function reportFailure(failure: Failure, json: boolean): void {
  const text = json
    ? JSON.stringify({ error: failure })
    : `hearth: ${failure.message}${failure.suggestion === '' ? '' : `\n  ${failure.suggestion}`}`
  process.stderr.write(`${text}\n`)
}
