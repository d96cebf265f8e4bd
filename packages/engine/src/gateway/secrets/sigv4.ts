import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { refuse } from '../http/refusal.ts'
import { valuesOf, type Headers } from '../http/message.ts'
import type { SandboxSecret } from './sandbox-secrets.ts'

/** A request as it is signed. */
export interface Signable {
  readonly method: string
  readonly target: string
  readonly host: string
  readonly headers: Headers
}

interface Claim {
  /** `20260101/us-east-1/s3/aws4_request`. */
  readonly scope: string
  readonly credential: string
  readonly signed: readonly string[]
  readonly signature: string
}

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 +Credential=([^,/\s]+)\/(\d{8}\/[^,/\s]+\/[^,/\s]+\/aws4_request), *SignedHeaders=([a-z0-9;-]+), *Signature=([0-9a-f]{64})$/

/** Whether a request carries a signature of a kind that is known here. Other kinds of the family are refused: they could not be made anew. */
export function isSigned(headers: Headers): boolean {
  const [authorization = ''] = valuesOf(headers, 'authorization')
  if (!authorization.startsWith('AWS4-')) return false
  const [payload = ''] = valuesOf(headers, 'x-amz-content-sha256')
  if (!AUTHORIZATION.test(authorization)) {
    throw refuse('protocol_not_allowed', 'only AWS4-HMAC-SHA256 in the header Authorization can be signed anew')
  }
  if (payload.startsWith('STREAMING-AWS4-')) {
    throw refuse(
      'protocol_not_allowed',
      `a body signed chunk by chunk (${payload}) cannot be signed anew: send it unsigned or in one piece`,
    )
  }
  return true
}

/** What the signature says about the body; null when it must be computed from it. */
export function declaredPayload(headers: Headers): string | null {
  return valuesOf(headers, 'x-amz-content-sha256')[0] ?? null
}

/**
 * The value of `Authorization` for the request as it goes out, signed with the secret; null unless the one that came in was signed with its
 * placeholder.
 */
export function signAnew(came: Signable, goes: Signable, payload: string, secret: SandboxSecret): string | null {
  const { placement } = secret.binding
  const claim = claimOf(came.headers)
  if (placement.in !== 'aws' || claim === null) return null
  const [, region, service] = claim.scope.split('/')
  if ((placement.region ?? region) !== region || (placement.service ?? service) !== service) return null
  for (const path of [plainPath, escapedPath]) {
    if (!equal(signature(came, claim, claim.signed, payload, secret.placeholder, path), claim.signature)) continue
    const signed = claim.signed.filter((name) => name === 'host' || valuesOf(goes.headers, name).length > 0)
    const made = signature(goes, claim, signed, payload, secret.value, path)
    return `AWS4-HMAC-SHA256 Credential=${claim.credential}/${claim.scope}, SignedHeaders=${signed.join(';')}, Signature=${made}`
  }
  return null
}

function claimOf(headers: Headers): Claim | null {
  const [, credential, scope, signed, given] = AUTHORIZATION.exec(valuesOf(headers, 'authorization')[0] ?? '') ?? []
  if (credential === undefined || scope === undefined || signed === undefined || given === undefined) return null
  return { credential, scope, signed: signed.split(';'), signature: given }
}

function signature(
  request: Signable,
  { scope }: Claim,
  signed: readonly string[],
  payload: string,
  key: string,
  path: (target: string) => string,
): string {
  const canonical = [
    request.method,
    path(request.target),
    canonicalQuery(request.target),
    ...signed.map((name) => `${name}:${canonicalHeader(request, name)}`),
    '',
    signed.join(';'),
    payload,
  ].join('\n')
  const [date] = valuesOf(request.headers, 'x-amz-date')
  const text = ['AWS4-HMAC-SHA256', date ?? '', scope, sha256(Buffer.from(canonical, 'latin1'))].join('\n')
  const derived = scope
    .split('/')
    .reduce<Buffer>((secret, part) => hmac(secret, part), Buffer.from(`AWS4${key}`, 'latin1'))
  return hmac(derived, text).toString('hex')
}

function canonicalHeader({ headers, host }: Signable, name: string): string {
  if (name === 'host') return host
  return valuesOf(headers, name)
    .map((value) => value.trim().replaceAll(/ +/g, ' '))
    .join(',')
}

/** As S3 signs it: what is on the wire. */
function plainPath(target: string): string {
  return target.split('?', 1)[0] ?? ''
}

/** As all other services sign it: escaped once more. */
function escapedPath(target: string): string {
  return plainPath(target)
    .split('/')
    .map((part) => escapeAll(part))
    .join('/')
}

function canonicalQuery(target: string): string {
  const at = target.indexOf('?')
  if (at < 0 || at === target.length - 1) return ''
  return target
    .slice(at + 1)
    .split('&')
    .map((pair): [string, string] => {
      const equals = pair.indexOf('=')
      const [key, value] = equals < 0 ? [pair, ''] : [pair.slice(0, equals), pair.slice(equals + 1)]
      return [escapeAll(decoded(key)), escapeAll(decoded(value))]
    })
    .toSorted(([key, value], [otherKey, otherValue]) => order(key, otherKey) || order(value, otherValue))
    .map(([key, value]) => `${key}=${value}`)
    .join('&')
}

function order(one: string, other: string): number {
  return one < other ? -1 : Number(one > other)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (error) {
    if (error instanceof URIError) return text
    throw error
  }
}

function escapeAll(text: string): string {
  return encodeURIComponent(text).replaceAll(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)
}

export function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text, 'latin1').digest()
}

function equal(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other))
}
