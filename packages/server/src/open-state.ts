import { join } from 'node:path'
import type { Logger } from 'pino'
import { OtlpExporter, type OtlpOptions } from './record/otlp-exporter.ts'
import { Records } from './record/records.ts'
import { deriveKeys, openStore, serverKey, type Store } from './state/index.ts'

export interface StateOptions {
  readonly home: string
  readonly database: string | undefined
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
}

/** Everything that is durable, and the record that is written into it. */
export async function openState(options: StateOptions): Promise<State> {
  const { home, database, keep, telemetry, logger, onProblem } = options
  const exporter = telemetry === null ? null : new OtlpExporter({ onProblem, ...telemetry })
  const store = await openStore({
    url: database ?? `sqlite:${join(home, 'hearth.db')}`,
    keys: deriveKeys(await serverKey(join(home, 'secret-key'))),
    onEvents: (events) => exporter?.take(events),
    onConnectionError: (error) => logger.warn({ event: 'store.connection', err: error }),
  })
  return { store, records: new Records(store, { onProblem, ...(keep === undefined ? {} : { keep }) }), exporter }
}
