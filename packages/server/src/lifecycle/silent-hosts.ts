import { HearthError, type SandboxState } from '@hearth/contract'
import { ALIVE_STATES, type SandboxRecord } from '../state/index.ts'
import type { Context } from './context.ts'
import type { LiveSandbox } from './live-sandbox.ts'
import { eventOf } from './transitions.ts'

/** A host that has not been heard of for this long may never come back: ten rounds of its server. */
export const SILENT_MS = 300_000

const REASON = 'gone: its host is gone'

/**
 * Sandboxes of other hosts that are not heard of: where the deadline has passed nothing runs any more, whatever became of the host,
 * and what ended long ago is removed. When such a host returns, its server finds machines without rows and ends them.
 */
export async function endOnSilentHosts(context: Context, endedMs: number): Promise<void> {
  const { store, silentMs } = context
  const silent = (await store.hosts.list()).filter((host) => host.id !== context.hostId && isSilent(host, silentMs))
  for (const { id: hostId } of silent) {
    for await (const record of store.sandboxes.scan({ hostId, states: ALIVE_STATES })) {
      if (record.expiresAt !== null && record.expiresAt <= Date.now()) await unlessChanged(endRow(context, record))
    }
    for await (const record of store.sandboxes.scan({ hostId, states: ['stopped', 'failed'] })) {
      const isOld = (record.endedAt ?? record.createdAt) <= Date.now() - endedMs
      if (isOld) await unlessChanged(deleteRow(context, record, 'retention'))
    }
  }
}

/** Deletes a sandbox whose host is silent; `conflict` when that host is well, for then it is its server that must be asked. */
export async function deleteElsewhere(context: Context, record: SandboxRecord): Promise<void> {
  const host = (await context.store.hosts.list()).find(({ id }) => id === record.hostId)
  if (host !== undefined && !isSilent(host, context.silentMs)) throw livesElsewhere(record)
  await deleteRow(context, record, 'request')
}

export function livesElsewhere({ id, hostId }: SandboxRecord): HearthError {
  return new HearthError('conflict', `sandbox ${id} lives on another host`, { context: { sandbox: id, host: hostId } })
}

/** This host was silent itself, and others may have written its sandboxes off. What has no row any more is ended here too. */
export async function endWrittenOff(context: Context): Promise<void> {
  for (const live of context.live) {
    if (live.machine !== null) await live.inTurn(() => endIfWrittenOff(context, live))
  }
}

async function endIfWrittenOff(context: Context, live: LiveSandbox): Promise<void> {
  const row = await context.store.sandboxes.find(live.record.id)
  if (live.machine === null || (row !== null && ALIVE_STATES.includes(row.state))) return
  live.machine = null
  live.retire()
  await context.hearth.discard(live.record.id)
  context.live.remove(live)
}

function isSilent({ heartbeatAt }: { readonly heartbeatAt: number }, silentMs: number): boolean {
  return heartbeatAt <= Date.now() - silentMs
}

async function endRow(context: Context, record: SandboxRecord): Promise<void> {
  if (record.state === 'deleting') return await deleteRow(context, record, 'request')
  const to: SandboxState = record.state === 'creating' ? 'failed' : 'stopped'
  await context.store.transaction(async (session) => {
    const ended = await session.sandboxes.transition(record, to, { endedAt: Date.now(), endReason: REASON })
    await session.events.append(eventOf(ended, `sandbox.${to}`, { reason: REASON }))
  })
}

async function deleteRow(context: Context, record: SandboxRecord, reason: string): Promise<void> {
  await context.store.transaction(async (session) => {
    const deleting = record.state === 'deleting' ? record : await session.sandboxes.transition(record, 'deleting')
    const endedAt = record.endedAt ?? Date.now()
    const deleted = await session.sandboxes.transition(deleting, 'deleted', { endedAt, endReason: reason })
    const ended = !ALIVE_STATES.includes(record.state)
    await session.events.append(eventOf(deleted, 'sandbox.deleted', { reason, ...(ended ? { ended } : {}) }))
  })
}

/** A host that was heard of again in between keeps its sandbox. */
async function unlessChanged(work: Promise<void>): Promise<void> {
  try {
    await work
  } catch (error) {
    if (!HearthError.isInstance(error) || (error.code !== 'conflict' && error.code !== 'sandbox_not_found')) throw error
  }
}
