import { BOUNDS, type RecordEntry } from '@hearth/contract'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ConnectionRecord } from './connection-record.ts'
import { GatewayScope } from './gateway-scope.ts'
import { CompiledPolicy } from './policy/compiled-policy.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function start(): { record: ConnectionRecord; entries: RecordEntry[] } {
  const entries: RecordEntry[] = []
  const destination = {
    name: 'allowed.example',
    port: 443,
    process: 3,
    verdict: { allowed: true, named: true, inspected: false, addresses: [] },
    inspected: false,
    scope: GatewayScope.ofMachine(() => new CompiledPolicy(), false),
  } as const
  return { record: new ConnectionRecord({ add: (entry) => entries.push(entry) }, destination), entries }
}

test('a short connection is one entry', () => {
  const { record, entries } = start()
  record.sent(5)
  vi.advanceTimersByTime(BOUNDS.connectionOpenedMs - 1)
  record.finish(null, null)
  vi.advanceTimersByTime(10 * BOUNDS.connectionProgressMs)
  expect(entries).toMatchObject([{ kind: 'connection', sentBytes: 5 }])
  expect(entries[0]).not.toHaveProperty('connection')
})

test('one that stays is written down while it is open, and again each minute in which something passed', () => {
  const { record, entries } = start()
  record.protocol = 'tls'
  record.sent(10)
  vi.advanceTimersByTime(BOUNDS.connectionOpenedMs)
  expect(entries).toMatchObject([{ kind: 'opened', process: 3, protocol: 'tls', sentBytes: 10, receivedBytes: 0 }])
  vi.advanceTimersByTime(BOUNDS.connectionProgressMs)
  expect(entries).toHaveLength(1)
  record.received(7)
  vi.advanceTimersByTime(2 * BOUNDS.connectionProgressMs)
  record.sent(1)
  record.finish({ allowed: false, refusal: 'denied', message: 'withdrawn' }, null)
  vi.advanceTimersByTime(2 * BOUNDS.connectionProgressMs)
  expect(entries.slice(1)).toMatchObject([
    { kind: 'progress', sentBytes: 10, receivedBytes: 7 },
    { kind: 'refusal', refusal: 'denied' },
    { kind: 'connection', sentBytes: 11, receivedBytes: 7, failure: 'withdrawn' },
  ])
  const ids = entries.flatMap((entry) => ('connection' in entry ? [entry.connection] : []))
  expect(ids).toHaveLength(3)
  expect(new Set(ids).size).toBe(1)
})
