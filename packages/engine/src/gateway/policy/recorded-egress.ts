import { z } from 'zod'
import { EGRESS_PROXY_NAME, OWN_HEARTH_NAME, REFUSALS, type Refusal } from '@hearth/contract'

/** Ends a path of which the record has the beginning alone. No path on the wire holds it. */
export const CUT_MARK = '…'

/** An entry of the timeline of a sandbox. Others than those of the network are passed over. */
export interface RecordedEvent {
  readonly type: string
  readonly data: Readonly<Record<string, unknown>>
}

/** A connection, or with a method and a path a request. */
export interface Attempt {
  readonly name: string
  readonly port: number
  readonly method: string | null
  /** Of a long one its beginning. */
  readonly path: string | null
  readonly isCut: boolean
}

export interface RecordedEgress {
  /** Those whose content nobody looked at. */
  readonly connections: readonly Attempt[]
  readonly requests: readonly Attempt[]
  readonly refused: readonly Attempt[]
}

/** What a policy decides; all else is refused whatever the policy says. */
const BY_POLICY: ReadonlySet<Refusal> = new Set([
  'name_not_allowed',
  'port_not_allowed',
  'denied',
  'method_not_allowed',
  'path_not_allowed',
])

const reached = { name: z.string(), port: z.int() }
const connectionSchema = z.object({
  ...reached,
  protocol: z.string(),
  sentBytes: z.number(),
  receivedBytes: z.number(),
  failure: z.string().nullable(),
})
const requestSchema = z.object({ ...reached, method: z.string(), path: z.string() })
const refusalSchema = z.object({
  name: z.string(),
  port: z.int().nullable(),
  refusal: z.enum(REFUSALS),
  message: z.string(),
  method: z.string().optional(),
  path: z.string().optional(),
})

export function readRecord(events: Iterable<RecordedEvent>): RecordedEgress {
  const connections: z.output<typeof connectionSchema>[] = []
  const requests: Attempt[] = []
  const refusals: z.output<typeof refusalSchema>[] = []
  for (const { type, data } of events) {
    // No policy speaks of it.
    if (data['name'] === OWN_HEARTH_NAME || data['name'] === EGRESS_PROXY_NAME) continue
    if (type === 'network.connection') connections.push(connectionSchema.parse(data))
    if (type === 'network.request') requests.push(requestOf(requestSchema.parse(data)))
    if (type === 'network.refused') refusals.push(refusalSchema.parse(data))
  }
  const ended = new Set(refusals.map(({ name, port, message }) => JSON.stringify([name, port, message])))
  const isWhole = ({
    name,
    port,
    protocol,
    sentBytes,
    receivedBytes,
    failure,
  }: (typeof connections)[number]): boolean =>
    (protocol === 'tcp' || protocol === 'tls') &&
    // Nothing was said in it, or it was refused before it was carried: it needs nothing.
    sentBytes + receivedBytes > 0 &&
    !ended.has(JSON.stringify([name, port, failure]))
  return {
    connections: distinct(connections.filter(isWhole).map(({ name, port }) => attempt({ name, port }, null, null))),
    requests: distinct(requests),
    refused: distinct(
      refusals.flatMap(({ name, port, refusal, method = null, path = null }) =>
        port === null || !BY_POLICY.has(refusal) ? [] : [attempt({ name, port }, method, path)],
      ),
    ),
  }
}

function requestOf({ name, port, method, path }: z.output<typeof requestSchema>): Attempt {
  return attempt({ name, port }, method, path)
}

function attempt({ name, port }: Pick<Attempt, 'name' | 'port'>, method: string | null, path: string | null): Attempt {
  if (path?.endsWith(CUT_MARK) !== true) return { name, port, method, path, isCut: false }
  // Perhaps in the middle of an escape.
  return { name, port, method, path: path.slice(0, -CUT_MARK.length).replace(/%[0-9a-f]?$/i, ''), isCut: true }
}

function distinct(attempts: readonly Attempt[]): Attempt[] {
  return [...new Map(attempts.map((attempt) => [JSON.stringify(attempt), attempt])).values()]
}
