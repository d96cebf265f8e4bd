import type { SandboxState } from '@hearth/contract'
import type {
  NewEvent,
  Operation,
  OperationEnd,
  SandboxPatch,
  SandboxRecord,
  SandboxVersion,
  StoreSession,
} from '../state/index.ts'
import type { Context } from './context.ts'

export interface Begun {
  readonly record: SandboxRecord
  readonly operation: Operation
}

/** Writes down that something long begins, with the state in between that everybody sees meanwhile. */
export async function beginOperation(
  context: Context,
  from: SandboxRecord,
  kind: 'pause' | 'resume' | 'hibernate' | 'wake' | 'stop' | 'delete',
  to: SandboxState,
  options: {
    /** What must be known to finish it in another life of the server. */
    readonly request?: unknown
    /** What must hold, or nothing begins. */
    readonly check?: (session: StoreSession) => Promise<void>
  } = {},
): Promise<Begun> {
  const { request = null, check } = options
  return await context.store.transaction(async (session) => {
    await check?.(session)
    const record = await session.sandboxes.transition(from, to)
    const claim = { owner: context.hostId, leaseMs: context.leaseMs }
    const { tenantId, id: sandboxId } = from
    const { operation } = await session.operations.begin({ tenantId, kind, sandboxId, request, claim })
    return { record, operation }
  })
}

export interface Settlement {
  readonly operation: Operation
  readonly end: OperationEnd
  /** The states on the way, the last one to stay. */
  readonly states: readonly SandboxState[]
  readonly patch?: SandboxPatch
  readonly error?: unknown
  /** Type and facts of the event that tells it. */
  readonly event?: { readonly type: string; readonly data?: Record<string, unknown> }
}

/** Writes down how it ended: the state, the operation and the event at once. */
export async function settleOperation(
  context: Context,
  from: SandboxRecord,
  settlement: Settlement,
): Promise<SandboxRecord> {
  const { operation, end, error, event } = settlement
  return await context.store.transaction(async (session) => {
    const record = await walk(session, from, settlement)
    await session.operations.finish(operation, end, error === undefined ? {} : { error })
    if (event !== undefined)
      await session.events.append(eventOf(record, event.type, { operation: operation.id, ...event.data }))
    return record
  })
}

async function walk(session: StoreSession, from: SandboxRecord, settlement: Settlement): Promise<SandboxRecord> {
  let record = from
  for (const [index, state] of settlement.states.entries()) {
    const last = index === settlement.states.length - 1
    record = await session.sandboxes.transition(record, state, last ? (settlement.patch ?? {}) : {})
  }
  return record
}

/** A change without an operation, and its event. */
export async function changeState(
  context: Context,
  from: SandboxVersion,
  to: SandboxState,
  patch: SandboxPatch,
  type: string,
  data: Record<string, unknown>,
): Promise<SandboxRecord> {
  return await context.store.transaction(async (session) => {
    const record = await session.sandboxes.transition(from, to, patch)
    await session.events.append(eventOf(record, type, data))
    return record
  })
}

export function eventOf(record: SandboxRecord, type: string, data: Record<string, unknown>): NewEvent {
  return { tenantId: record.tenantId, sandboxId: record.id, type, data }
}

/** What is known of a sandbox from its beginning, for those who ask when its row is gone. */
export function beginningOf({ template, metadata, limits }: SandboxRecord): Record<string, unknown> {
  return { template, metadata, cpus: limits.cpus, memoryBytes: limits.memoryBytes }
}
