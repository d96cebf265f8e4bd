import type { Readable } from 'node:stream'
import type { InspectedConnection } from '../connection.ts'
import { checkPush, PUSH_COMMAND_BYTES, readPushCommands } from '../secrets/git-push.ts'
import { placeInHead, type PlacedHead } from '../secrets/place-in-head.ts'
import { placeInJson } from '../secrets/place-in-json.ts'
import type { SandboxSecret } from '../secrets/sandbox-secrets.ts'
import { declaredPayload, isSigned, sha256, signAnew } from '../secrets/sigv4.ts'
import { bodyMemory, windowMemory } from './body-memory.ts'
import type { CheckedRequest } from './check-request.ts'
import { readableCodings, requestCodingsOf } from './content-coding.ts'
import { lookInto } from './encoded-body.ts'
import type { HttpLimits } from './limits.ts'
import { valuesOf, without, type Header, type Headers, type Inbound } from './message.ts'
import { withoutPackedMessages } from './packed-messages.ts'
import { readStart, readWhole, type Filter, type Keeping } from './pump.ts'
import { refuse } from './refusal.ts'

/** A request as it goes out, with secrets in their places. */
export interface PreparedRequest {
  readonly method: string
  readonly target: string
  readonly host: string
  readonly headers: Headers
  /** A body that was read whole, or one that streams, with what is done to it on the way. */
  readonly body: Buffer | Readable | null
  readonly filter: Filter | null
  readonly named: boolean
  /** Names of the secrets that were put in. */
  readonly secrets: readonly string[]
}

/** Puts the secrets of the sandbox into a request that may pass, and refuses it where a placeholder is in another place. */
export async function prepareRequest(
  connection: InspectedConnection,
  inbound: Inbound,
  checked: CheckedRequest,
  named: boolean,
  limits: HttpLimits,
): Promise<PreparedRequest> {
  const { name, port, secure, secrets } = connection
  const host = port === (secure ? 443 : 80) ? name : `${name}:${port}`
  const { method } = checked
  const streamed = checked.hasBody ? inbound.body : null
  const expected: Headers = inbound.expectsContinue ? [['expect', '100-continue']] : []
  if (secrets.empty) {
    const headers = [...checked.headers, ...expected]
    return { method, target: checked.target, host, headers, body: streamed, filter: null, named, secrets: [] }
  }
  const usable = secure ? secrets.usableIn(name, method, checked.target) : []
  await secrets.time.turn()
  const head = placeInHead(checked, usable, secrets.watch)
  const keeping = { claim: bodyMemory(secrets, inbound, limits), idleMs: limits.bodyIdleMs }
  const body = checked.hasBody ? await prepareBody(connection, inbound, head, usable, limits, keeping) : null
  const cleaned = { ...head, headers: cleanHeaders(head.headers, secrets.boundTo(name)), host, method }
  const signed = await sign(checked, cleaned, inbound, body?.content ?? null, usable, limits.bodyBytes, keeping)
  const used = new Set([...head.used, ...(body?.used ?? []), ...signed.used])
  const content = signed.body
  const framing: Headers = Buffer.isBuffer(content)
    ? [['content-length', String(content.length)]]
    : proceeded.has(inbound)
      ? []
      : expected
  return {
    method,
    target: head.target,
    host,
    headers: [...(Buffer.isBuffer(content) ? without(signed.headers, 'content-length') : signed.headers), ...framing],
    body: content,
    filter: content === null || Buffer.isBuffer(content) ? null : secrets.watch.stream('the body'),
    named,
    secrets: Array.from(used, (secret) => secret.name),
  }
}

interface PreparedBody {
  readonly content: Buffer | Readable
  readonly used: readonly SandboxSecret[]
}

async function prepareBody(
  { secrets, name }: InspectedConnection,
  inbound: Inbound,
  head: PlacedHead,
  usable: readonly SandboxSecret[],
  limits: HttpLimits,
  keeping: Keeping,
): Promise<PreparedBody> {
  const codings = requestCodingsOf(head.headers) ?? unsearchable(secrets.boundTo(name))
  const branches = head.used.flatMap(({ binding }) => (binding.branches === undefined ? [] : [binding.branches]))
  if (branches.length > 0 && head.target.split('?', 1)[0]?.endsWith('/git-receive-pack') === true) {
    if (valuesOf(head.headers, 'content-encoding').length > 0) throw refuse('malformed', 'a push cannot be compressed')
    proceed(inbound)
    const whole = await checkBranches(inbound.body, branches, keeping)
    if (whole !== null) return { content: whole, used: [] }
  }
  const json = usable.some(({ binding }) => binding.placement.in === 'json')
  if (json && codings.length === 0 && /json/i.test(valuesOf(head.headers, 'content-type')[0] ?? '')) {
    proceed(inbound)
    const whole = await readWhole(inbound.body, limits.bodyBytes, keeping)
    if (whole !== null) {
      const { body, used } = await placeInJson(whole, usable, secrets.watch)
      secrets.watch.check(Buffer.from(inbound.trailers().flat().join('\n'), 'latin1'), 'the trailers')
      return { content: body, used }
    }
  }
  return { content: lookInto(inbound.body, codings, secrets, windowMemory(secrets, inbound, limits)), used: [] }
}

/** A name that nothing is bound to learns no value from a placeholder. */
function unsearchable(bound: boolean): [] {
  if (bound) throw refuse('malformed', 'the body is encoded in a way that cannot be searched for placeholders')
  return []
}

/** The body, when all of it had to be read for that. */
async function checkBranches(
  body: Readable,
  branches: readonly (readonly string[])[],
  keeping: Keeping,
): Promise<Buffer | null> {
  const { bytes, ended } = await readStart(
    body,
    PUSH_COMMAND_BYTES,
    keeping,
    (start) => readPushCommands(start).kind === 'commands',
  )
  const commands = readPushCommands(bytes)
  if (commands.kind !== 'commands') throw refuse('malformed', 'the push changes too much at once')
  for (const allowed of branches) checkPush(commands, allowed)
  return ended ? bytes : null
}

/** Signs anew what was signed with a placeholder. */
async function sign(
  came: CheckedRequest,
  goes: { readonly method: string; readonly target: string; readonly host: string; readonly headers: Headers },
  inbound: Inbound,
  content: Buffer | Readable | null,
  usable: readonly SandboxSecret[],
  most: number,
  keeping: Keeping,
): Promise<{ headers: Headers; body: Buffer | Readable | null; used: readonly SandboxSecret[] }> {
  const keys = usable.filter(({ binding }) => binding.placement.in === 'aws')
  if (keys.length === 0 || !isSigned(came.headers)) return { headers: goes.headers, body: content, used: [] }
  let body = content
  let payload = declaredPayload(came.headers)
  if (payload === null) {
    if (content !== null && !Buffer.isBuffer(content)) {
      proceed(inbound)
      body = await readWhole(content, most, keeping)
      if (body === null) throw refuse('malformed', `a body of more than ${most} bytes cannot be signed anew`)
    }
    payload = sha256(Buffer.isBuffer(body) ? body : Buffer.alloc(0))
  }
  const original = { ...came, host: inbound.authorities[0] ?? '' }
  for (const secret of keys) {
    const authorization = signAnew(original, goes, payload, secret)
    if (authorization === null) continue
    const headers: Header[] = [...without(goes.headers, 'authorization'), ['authorization', authorization]]
    return { headers, body, used: [secret] }
  }
  return { headers: goes.headers, body, used: [] }
}

const proceeded = new WeakSet<Inbound>()

/** Lets the client send its body, once: it is needed here. */
function proceed(inbound: Inbound): void {
  if (!inbound.expectsContinue || proceeded.has(inbound)) return
  proceeded.add(inbound)
  inbound.reply.proceed()
}

/** Asks for nothing that could not be searched for secrets: unknown encodings, and parts of what a secret may be in. */
function cleanHeaders(headers: Headers, bound: boolean): Headers {
  const cleaned = headers.map(([name, value]): Header =>
    name.toLowerCase() === 'accept-encoding'
      ? [name, readableCodings(value) || 'identity']
      : withoutPackedMessages([name, value]),
  )
  return bound ? without(cleaned, 'range', 'if-range') : cleaned
}
