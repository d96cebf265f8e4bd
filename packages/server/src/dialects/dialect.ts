import type { AddressInfo } from 'node:net'
import type { Services } from '../http/app-env.ts'
import type { Speaker } from '../http/listener.ts'
import type { Operations } from '../http/operations.ts'

/** What a dialect works with: all of it is shared with the native API, so that keys, limits and logs are the same. */
export interface DialectContext {
  readonly services: Services
  readonly operations: Operations
  /** Where it listens; only when it does. */
  readonly address: () => AddressInfo
}

/** Another vendor's API: a thin adapter that decides nothing about sandboxes by itself. */
export interface Dialect extends Speaker {
  /** When the server stops. Sandboxes live on. */
  close(): Promise<void>
}

export interface DialectListening {
  readonly name: string
  /** 0 for a free one. The host is that of the server. */
  readonly port: number
  /** The server starts without it when its port is taken. */
  readonly optional: boolean
  readonly open: (context: DialectContext) => Dialect
}
