import type { StoredEvent } from '../state/index.ts'

/** Values of the OTLP protocol in JSON: integers of 64 bits are texts. */
type AnyValue =
  | { readonly stringValue: string }
  | { readonly intValue: string }
  | { readonly doubleValue: number }
  | { readonly boolValue: boolean }

const INFO = { severityNumber: 9, severityText: 'INFO' } as const
const WARN = { severityNumber: 13, severityText: 'WARN' } as const
/** What somebody should look at. */
const WARNINGS: ReadonlySet<string> = new Set(['network.refused', 'record.dropped', 'export.dropped', 'sandbox.failed'])

/** A request of the protocol that holds these events as log records, each field of their data an attribute. */
export function otlpLogs(events: readonly StoredEvent[], service: string, version: string): object {
  const resource = { attributes: [attribute('service.name', service), attribute('service.version', version)] }
  const scope = { name: 'hearth.record', version }
  return { resourceLogs: [{ resource, scopeLogs: [{ scope, logRecords: events.map(logRecord) }] }] }
}

function logRecord({ seq, at, tenantId, sandboxId, type, data, hash }: StoredEvent): object {
  const facts = { seq, tenant: tenantId, sandbox: sandboxId, hash, ...data }
  return {
    timeUnixNano: `${at}000000`,
    observedTimeUnixNano: `${Date.now()}000000`,
    ...(WARNINGS.has(type) ? WARN : INFO),
    eventName: `hearth.${type}`,
    body: { stringValue: type },
    attributes: Object.entries(facts).flatMap(([name, value]) =>
      value === null || value === undefined ? [] : [attribute(`hearth.${name}`, value)],
    ),
  }
}

function attribute(key: string, value: unknown): { readonly key: string; readonly value: AnyValue } {
  return { key, value: anyValue(value) }
}

function anyValue(value: unknown): AnyValue {
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'number')
    return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value }
  return { stringValue: typeof value === 'string' ? value : JSON.stringify(value) }
}
