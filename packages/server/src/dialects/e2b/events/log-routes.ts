import type { StoredEvent } from '../../../state/index.ts'
import type { Answer, Call, Route } from '../control/call.ts'
import { stored } from './event-routes.ts'

const MOST_ENTRIES = 1000
/** The last time that there is. */
const LATEST_MS = 8.64e14
const LEVELS = ['debug', 'info', 'warn', 'error'] as const

interface LogEntry {
  readonly timestamp: string
  readonly level: (typeof LEVELS)[number]
  readonly message: string
  readonly fields: Readonly<Record<string, string>>
}

/** What the agent in a sandbox has logged is, here, what the server knows to have happened in it. */
export const LOG_ROUTES: readonly Route[] = [
  { method: 'GET', path: '/sandboxes/{id}/logs', name: 'e2b.sandbox.logs', scope: 'sandbox:read', handle: logsV1 },
  { method: 'GET', path: '/v2/sandboxes/{id}/logs', name: 'e2b.sandbox.logs', scope: 'sandbox:read', handle: logsV2 },
]

async function logsV1(call: Call): Promise<Answer> {
  const logEntries = await entries(call, { from: call.integer('start', 0, LATEST_MS) ?? 0, backward: false })
  const logs = logEntries.map(({ timestamp, message }) => ({ timestamp, line: message }))
  return { status: 200, json: { logs, logEntries } }
}

async function logsV2(call: Call): Promise<Answer> {
  const backward = call.query.get('direction') === 'backward'
  const from = call.integer('cursor', 0, LATEST_MS) ?? (backward ? LATEST_MS : 0)
  return { status: 200, json: { logs: await entries(call, { from, backward }) } }
}

async function entries(
  call: Call,
  { from, backward }: { readonly from: number; readonly backward: boolean },
): Promise<LogEntry[]> {
  const { tenantId } = call.caller
  const { id: sandboxId } = await call.plane.get(call.caller, call.sandboxId)
  const limit = call.integer('limit', 0, MOST_ENTRIES) ?? MOST_ENTRIES
  const least = LEVELS.findIndex((level) => level === call.query.get('level'))
  const search = call.query.get('search') ?? ''
  const found: LogEntry[] = []
  for await (const event of stored(call, { tenantId, sandboxId }, !backward)) {
    if (found.length >= limit) break
    if (backward ? event.at > from : event.at < from) continue
    const entry = entryOf(event)
    if (LEVELS.indexOf(entry.level) >= least && entry.message.includes(search)) found.push(entry)
  }
  return found
}

function entryOf({ at, type, data }: StoredEvent): LogEntry {
  const fields = Object.entries(data).map(
    ([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)] as const,
  )
  const message = [type, ...fields.map(([name, value]) => `${name}=${value}`)].join(' ')
  const level = /\.(failed|error)$/.test(type) ? 'error' : type.endsWith('.refused') ? 'warn' : 'info'
  return { timestamp: new Date(at).toISOString(), level, message, fields: Object.fromEntries(fields) }
}
