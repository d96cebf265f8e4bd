import { HearthError } from '@hearth/contract'
import type { ForgeAnswer } from './forge-call.ts'

/** What a forge says is shown to people, and bounded. */
const MOST_CHARACTERS = 500

export function forgeFailed(message: string, context: Record<string, unknown> = {}): HearthError {
  return new HearthError('forge_failed', `the forge: ${message}`, { context })
}

/** An answer that is no success, with what it says. SAFETY: a server that repeats the token does not bring it into a message. */
export function refusedBy(answer: ForgeAnswer, token: string): HearthError {
  const { status, headers } = answer
  const said = shown(saidIn(answer.body), token)
  const context = { status, ...waitOf(answer) }
  if (status === 429 || headers['x-ratelimit-remaining'] === '0' || headers['ratelimit-remaining'] === '0')
    return forgeFailed(`too many calls for now (status ${status})${said}`, context)
  return forgeFailed(`it answered with status ${status}${said}`, context)
}

/** GitHub has a `message` and `errors`, GitLab a `message` or an `error`, each of them a text, a list or an object. */
function saidIn(body: unknown): string {
  if (typeof body !== 'object' || body === null) return ''
  const { message, error, errors } = body as Record<string, unknown>
  return [message, error, errors].flatMap(textsIn).join('; ')
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  if (Array.isArray(value)) return value.slice(0, 10).flatMap(textsIn)
  const { message } = value as Record<string, unknown>
  if (typeof message === 'string') return [message]
  return Object.entries(value)
    .slice(0, 10)
    .flatMap(([name, inner]) => textsIn(inner).map((text) => `${name} ${text}`))
}

function shown(said: string, token: string): string {
  // eslint-disable-next-line no-control-regex
  const plain = said.replaceAll(token, '[token]').replaceAll(/[\x00-\x1f\x7f-\x9f]+/g, ' ')
  return plain === '' ? '' : `: ${plain.length > MOST_CHARACTERS ? `${plain.slice(0, MOST_CHARACTERS)}...` : plain}`
}

function waitOf({ headers }: ForgeAnswer): { retryAfterMs?: number } {
  const seconds = Number(headers['retry-after'])
  if (Number.isFinite(seconds) && seconds > 0) return { retryAfterMs: seconds * 1000 }
  const reset = Number(headers['x-ratelimit-reset'] ?? headers['ratelimit-reset']) * 1000
  return Number.isFinite(reset) && reset > Date.now() ? { retryAfterMs: reset - Date.now() } : {}
}
