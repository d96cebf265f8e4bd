import { join } from 'node:path'
import type { Quotas } from '@hearth/contract'
import type { Logger } from 'pino'
import { OtlpExporter, type OtlpOptions } from './record/otlp-exporter.ts'
import { Records } from './record/records.ts'
import { deriveKeys, openStore, serverKey, type Store, type StoredEvent } from './state/index.ts'

export interface StateOptions {
  readonly home: string
  readonly database: string | undefined
  /** 32 bytes in hex or base64; `HEARTH_SECRET_KEY` wins over it. Default: the file in the home. */
  readonly secretKey: string | undefined
  /** Of new tenants, where they are others than usual. */
  readonly quotas: Partial<Quotas> | undefined
  /** Entries that the record keeps of a sandbox. */
  readonly keep: number | undefined
  readonly telemetry: OtlpOptions | null
  readonly logger: Logger
  readonly onProblem: (what: string, error: unknown) => void
}

export interface State {
  readonly store: Store
  readonly records: Records
  /** Where the record goes besides the database; null for nowhere. */
  readonly exporter: OtlpExporter | null
  /** Calls back with the events of each commit of this server. */
  readonly onEvents: (listener: (events: readonly StoredEvent[]) => void) => void
}

/** Everything that is durable, and the record that is written into it. */
export async function openState(options: StateOptions): Promise<State> {
  const { home, database, secretKey, quotas, keep, telemetry, logger, onProblem } = options
  const exporter = telemetry === null ? null : new OtlpExporter({ onProblem, ...telemetry })
  const listeners: ((events: readonly StoredEvent[]) => void)[] =
    exporter === null ? [] : [(events) => exporter.take(events)]
  const store = await openStore({
    url: database ?? `sqlite:${join(home, 'hearth.db')}`,
    keys: deriveKeys(await serverKey(join(home, 'secret-key'), process.env['HEARTH_SECRET_KEY'] || secretKey)),
    ...(quotas === undefined ? {} : { quotas }),
    onEvents: (events) => listeners.forEach((listener) => listener(events)),
    onConnectionError: (error) => logger.warn({ event: 'store.connection', err: error }),
  })
  const records = new Records(store, { onProblem, ...(keep === undefined ? {} : { keep }) })
  return { store, records, exporter, onEvents: (listener) => void listeners.push(listener) }
}
