import { lookup } from 'node:dns/promises'
import { HearthError } from '@hearth/contract'
import { DATA_FRAME_BYTES } from '../../link/bulk-buffers.ts'
import { LeanSocket } from '../../link/lean-socket.ts'
import { dialRefused } from './dial-refused.ts'
import { Lookups, type Resolve } from './lookups.ts'
import { mayDial } from './may-dial.ts'

export interface DialOptions {
  /** Networks that are not public and may be dialed nevertheless. */
  readonly addresses: readonly string[]
  readonly signal?: AbortSignal
}

/** As much as goes into one frame of the link. */
const shared = Buffer.allocUnsafeSlow(DATA_FRAME_BYTES)

const CONNECT_MS = 10_000
const ADDRESSES = 8

/** Resolves a name, keeps the addresses that may be dialed, and dials those: what was checked is what is connected to. */
export class Dialer {
  readonly #lookups: Lookups

  constructor(resolve: Resolve = systemResolve) {
    this.#lookups = new Lookups(resolve)
  }

  async dial(name: string, port: number, options: DialOptions): Promise<LeanSocket> {
    const found = await this.#lookups.addressesOf(name)
    const usable = found.filter((address) => mayDial(address, options.addresses))
    if (usable.length === 0) {
      throw found.length === 0
        ? dialRefused('name_not_found', `${name} has no address`)
        : dialRefused('address_not_public', `${name} leads to an address that is not public`, {
            detail: found.slice(0, 3).join(', '),
          })
    }
    let last: unknown = null
    for (const address of usable.slice(0, ADDRESSES)) {
      options.signal?.throwIfAborted()
      try {
        return await connectTo(address, port, options.signal)
      } catch (error) {
        last = error
      }
    }
    throw new HearthError('port_refused', `${name}:${port} cannot be reached: ${(last as Error).message}`, {
      cause: last,
    })
  }
}

/** As the host itself would, /etc/hosts included. */
export async function systemResolve(name: string): Promise<readonly string[]> {
  return (await lookup(name, { all: true, order: 'ipv4first' })).map(({ address }) => address)
}

/** The signal and the time limit are for the connecting alone: a connection that was made lives as long as its owner wants. */
function connectTo(host: string, port: number, signal: AbortSignal | undefined): Promise<LeanSocket> {
  const { promise, resolve, reject } = Promise.withResolvers<LeanSocket>()
  const socket = new LeanSocket(shared, { allowHalfOpen: true }).setNoDelay(true).connect({ host, port })
  const abandon = (): void => void socket.destroy(new Error('nobody waits for it any more'))
  const timer = setTimeout(() => socket.destroy(new Error(`no answer within ${CONNECT_MS} ms`)), CONNECT_MS)
  signal?.addEventListener('abort', abandon, { once: true })
  const settle = (): void => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abandon)
    socket.off('error', reject)
  }
  socket.once('error', reject)
  socket.once('close', settle)
  socket.once('connect', () => {
    settle()
    resolve(socket)
  })
  return promise
}
