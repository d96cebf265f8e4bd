import type { Duplex } from 'node:stream'
import { EGRESS_PROXY_NAME } from '@hearth/contract'
import type { Meter } from '../guest-stream.ts'
import { errorBody, refuse } from '../http/refusal.ts'
import type { Refused } from '../policy/compiled-policy.ts'
import { normalName } from '../policy/host-name.ts'
import { readProxyHead, type ProxyRequest } from './proxy-head.ts'
import { readHead, type ReadHead } from './read-head.ts'

/** Connections to the proxy that have not said yet where to. */
export const PROXY_HEADS = 64
/** How long they have for that. */
export const PROXY_HEAD_MS = 30_000
/** How long a client that is refused may take for its answer. */
const LINGER_MS = 1000

/** Makes a connection to a name, as if the sandbox had made it there itself; or says why not. */
export type Onward = (name: string, port: number, open: (meter: Meter) => Duplex) => Refused | null

export interface ProxyWays {
  readonly onward: Onward
  /** Told of what is refused before it came to a name. */
  readonly refused: (why: Refused) => void
}

const STATUS = {
  malformed: '400 Bad Request',
  late: '408 Request Timeout',
  huge: '431 Request Header Fields Too Large',
  forbidden: '403 Forbidden',
} as const
const ESTABLISHED = 'HTTP/1.1 200 Connection established\r\n\r\n'
const CLOSE = 'Connection: close\r\n'

/**
 * The proxy of one sandbox: reads whereto, and hands the connection on as one straight to there. So it neither judges, nor resolves, nor reads
 * what is said, and is no way around anything that does.
 */
export class EgressProxy {
  readonly #nameAt: (address: number) => string | null
  /** Those that have not said yet where to, with the number of the command in whose network they are. */
  readonly #waiting = new Map<Duplex, number>()

  /** `nameAt`: the name that the sandbox finds at an address of its own. */
  constructor(nameAt: (address: number) => string | null) {
    this.#nameAt = nameAt
  }

  serve(scope: number, open: (meter: Meter) => Duplex, ways: ProxyWays): void {
    if (this.#waiting.size >= PROXY_HEADS) {
      const message = `more than ${PROXY_HEADS} connections to the proxy do not say where to`
      return ways.refused({ allowed: false, refusal: 'budget_exhausted', message })
    }
    const meter = new LaterMeter()
    const stream = open(meter)
    stream.on('error', () => stream.destroy())
    void this.#lead(stream, scope, meter, ways)
  }

  async #lead(stream: Duplex, scope: number, meter: LaterMeter, ways: ProxyWays): Promise<void> {
    this.#waiting.set(stream, scope)
    const head = await readHead(stream, PROXY_HEAD_MS)
    this.#waiting.delete(stream)
    if (!stream.destroyed) this.#answer(head, stream, meter, ways)
  }

  /** Nothing is left of the command. */
  forget(scope: number): void {
    for (const [stream, own] of this.#waiting) if (own === scope) stream.destroy()
  }

  /** Ends those that have not said yet where to. */
  close(): void {
    for (const stream of this.#waiting.keys()) stream.destroy()
  }

  #answer(head: ReadHead, stream: Duplex, meter: LaterMeter, ways: ProxyWays): void {
    const say = (why: Refused, status: string = statusOf(why)): void => sayRefused(stream, why, status)
    const refused = (why: Refused, status?: string): void => {
      ways.refused(why)
      say(why, status)
    }
    if (head === 'broken') return void stream.destroy()
    if (head === 'late') return refused(malformed('the head of the request did not come in time'), STATUS.late)
    if (head === 'huge') return refused(malformed('the head of the request is too long'), STATUS.huge)
    const asked = readProxyHead(head.toString('latin1', 0, head.length - 4))
    if (asked.kind === 'bad') return refused({ ...asked, allowed: false })
    const name = this.#nameOf(asked)
    if (typeof name !== 'string') return refused(name)
    const why = ways.onward(name, asked.port, (inner) => {
      const passed = asked.kind === 'request' ? straight(head, asked.target) : null
      meter.become(inner, passed === null ? head.length : 0)
      if (passed === null) stream.write(ESTABLISHED)
      else stream.unshift(passed)
      return stream
    })
    if (why !== null) say(why)
  }

  /** Addresses mean here what they mean everywhere: the name that was found there. */
  #nameOf({ host }: ProxyRequest): string | Refused {
    const octets = host.split('.').map(Number)
    const literal = octets.length === 4 && octets.join('.') === host && octets.every((one) => one >= 0 && one <= 255)
    const name = literal ? this.#nameAt(octets.reduce((sum, one) => sum * 256 + one, 0)) : normalName(host)
    if (name === null) {
      const message = literal
        ? `${host} is not the address of a name`
        : `${host.slice(0, 128)} is not the name of a host`
      return { allowed: false, refusal: literal ? 'name_not_allowed' : 'malformed', message }
    }
    if (name !== EGRESS_PROXY_NAME) return name
    return { allowed: false, refusal: 'protocol_not_allowed', message: 'the proxy does not lead to itself' }
  }
}

/** Counts for the connection that it becomes, with what came before. */
class LaterMeter implements Meter {
  #inner: Meter | null = null
  #early = 0

  sent(bytes: number): void {
    if (this.#inner === null) this.#early += bytes
    else this.#inner.sent(bytes)
  }

  received(bytes: number): void {
    this.#inner?.received(bytes)
  }

  /** `own`: as many were for the proxy. */
  become(inner: Meter, own: number): void {
    this.#inner = inner
    if (this.#early > own) inner.sent(this.#early - own)
  }
}

/**
 * The request as it would be sent straight to its host. Clients keep a connection to their proxy for other hosts too, and this one leads to one.
 */
function straight(head: Buffer, target: string): Buffer {
  const end = head.indexOf('\r\n')
  const line = head.toString('latin1', 0, end).split(' ').with(1, target).join(' ')
  return Buffer.concat([Buffer.from(`${line}\r\n${CLOSE}`), head.subarray(end + 2)])
}

function malformed(message: string): Refused {
  return { allowed: false, refusal: 'malformed', message }
}

function statusOf({ refusal }: Refused): string {
  return refusal === 'malformed' ? STATUS.malformed : STATUS.forbidden
}

/** What comes after a refused head is thrown away, unread. */
function sayRefused(stream: Duplex, { refusal, message }: Refused, status: string): void {
  const body = errorBody(refuse(refusal, message))
  const head = `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\ncache-control: no-store\r\nconnection: close\r\n\r\n`
  const timer = setTimeout(() => stream.destroy(), LINGER_MS)
  stream.once('close', () => clearTimeout(timer))
  stream.once('end', () => stream.destroy())
  stream.resume()
  stream.end(Buffer.concat([Buffer.from(head), body]))
}
