import { ERROR_CODES, HearthError, type ErrorCode } from '@hearth/contract'
import { createWithinQuota, type Operation, type SandboxRecord } from '../state/index.ts'
import type { SandboxKey } from '../control-plane.ts'
import type { Context } from './context.ts'
import type { PlannedCreate } from './create-request.ts'
import type { EarlyLaunch } from './early-launches.ts'
import { launchMachine } from './launch-machine.ts'
import { underLease } from './lease.ts'
import type { LiveSandbox } from './live-sandbox.ts'
import { attachMachine } from './machine-end.ts'
import { failure } from './pausing.ts'
import { settleDeadline } from './settle-deadline.ts'
import { beginningOf, eventOf, settleOperation } from './transitions.ts'
import { trackWork } from './under-way.ts'

export interface CreateBegun {
  readonly operation: Operation
  /** Null when the same request was begun before with the same key. */
  readonly live: LiveSandbox | null
}

export interface CreateOrigin {
  readonly idempotencyKey: string | null
  readonly requestId: string
  /** What it gets for itself. */
  readonly key: SandboxKey | null
}

/**
 * Writes the row, the operation and the event at once, within the tenant's quota and the host's room. The create counts against
 * that room until `admitted` is disposed of, unless it has `entered` already.
 */
export async function beginCreate(
  context: Context,
  planned: PlannedCreate,
  origin: CreateOrigin,
  admitted: DisposableStack,
  entered: boolean,
): Promise<CreateBegun> {
  const { request, row } = planned
  const { tenantId, id } = row
  const begun = await context.store.transaction(async (session) => {
    const claim = { owner: context.hostId, leaseMs: context.leaseMs }
    const { idempotencyKey } = origin
    const started = await session.operations.begin({
      tenantId,
      kind: 'create',
      sandboxId: id,
      request,
      idempotencyKey,
      claim,
    })
    if (!started.created) return { operation: started.operation, record: null }
    if (!entered) admitted.use(context.admission.enter(context.live.size))
    const record = await createWithinQuota(session, row)
    if (origin.key !== null) await session.apiKeys.delegate(origin.key.maker, { ...origin.key.key, sandboxId: id })
    if (planned.workspace !== null) await session.workspaces.lease(planned.workspace.id, id)
    const facts = { operation: started.operation.id, request: origin.requestId }
    await session.events.append(eventOf(record, 'sandbox.created', { ...facts, ...beginningOf(record) }))
    return { operation: started.operation, record }
  })
  return { operation: begun.operation, live: begun.record === null ? null : context.live.ensure(begun.record) }
}

export interface FinishOptions {
  /** Abandons the create. */
  readonly signal?: AbortSignal
  /** What is done before, in the same turn. */
  readonly prepare?: () => Promise<void>
  /** Its machine, when that was started already. */
  readonly early?: EarlyLaunch | null
}

/** Begins the machine and its row side by side, where the host has room and the tenant has not just been refused. */
export async function beginBoth(
  context: Context,
  planned: PlannedCreate,
  origin: CreateOrigin,
  admitted: DisposableStack,
): Promise<CreateBegun & { readonly early: EarlyLaunch | null }> {
  const { tenantId } = planned.row
  const entered = enterIfRoom(context, admitted)
  const early = entered ? context.early.start(planned) : null
  try {
    context.step('create:started')
    const begun = await beginCreate(context, planned, origin, admitted, entered)
    context.early.noteRow(tenantId, true)
    if (begun.live === null) await early?.takeBack()
    return { ...begun, early }
  } catch (error) {
    if (HearthError.isInstance(error) && error.code === 'quota_exceeded') context.early.noteRow(tenantId, false)
    await early?.takeBack()
    throw error
  }
}

/** A request that was made before is answered also by a host that is full; any other is refused when its row is written. */
function enterIfRoom(context: Context, admitted: DisposableStack): boolean {
  try {
    admitted.use(context.admission.enter(context.live.size, 'attempt'))
    return true
  } catch (error) {
    if (HearthError.isInstance(error) && error.code === 'host_full') return false
    throw error
  }
}

/** Starts the machine and writes down that it runs; when that cannot be, nothing of it is left. */
export function finishCreate(
  context: Context,
  live: LiveSandbox,
  operation: Operation,
  options: FinishOptions = {},
): Promise<SandboxRecord> {
  const { signal, prepare, early = null } = options
  const signals = signal === undefined ? [live.abandoned.signal] : [live.abandoned.signal, signal]
  const work = live.inTurn(async () => {
    context.step('create:begun')
    try {
      await prepare?.()
      return await underLease(context, operation, (lost) =>
        launch(context, live, operation, { signal: AbortSignal.any([lost, ...signals]), early }),
      )
    } catch (error) {
      await undoCreate(context, live, operation, 'failed', error)
      throw error
    }
  })
  return trackWork(context, operation, work)
}

async function launch(
  context: Context,
  live: LiveSandbox,
  operation: Operation,
  { signal, early }: { readonly signal: AbortSignal; readonly early: EarlyLaunch | null },
): Promise<SandboxRecord> {
  const machine = await (early === null ? launchMachine(context, live.record, signal) : early.machine(signal))
  context.step('create:launched')
  const expiresAt = await settleDeadline(live.record, machine)
  const { rung, driver, template, limits } = machine.info
  const { restored } = machine
  live.record = await settleOperation(context, live.record, {
    operation,
    end: 'done',
    states: ['running'],
    // The lifetime counts from here: a template may have been built before.
    patch: { rung, driver, template, limits, restored, ...(live.record.persistent ? {} : { expiresAt }) },
    event: { type: 'sandbox.running', data: { rung, driver, ...restored } },
  })
  await attachMachine(context, live, machine)
  context.step('create:done')
  return live.record
}

/** Takes everything back. The operation keeps the reason, for those who come with the same key. Called in turn. */
export async function undoCreate(
  context: Context,
  live: LiveSandbox,
  operation: Operation,
  end: 'failed' | 'undone',
  error: unknown,
): Promise<void> {
  const reason = error instanceof Error ? error.message : String(error)
  const { delegate } = live.record.spec
  try {
    await context.hearth.discard(live.record.id)
    live.record = await settleOperation(context, live.record, {
      operation,
      end,
      states: ['deleting', 'deleted'],
      patch: { endedAt: Date.now(), endReason: reason },
      error: failure(error),
      event: { type: 'sandbox.failed', data: { reason } },
    })
    context.live.remove(live)
    // Nothing was made with its key.
    if (delegate !== undefined) await context.store.apiKeys.revokeBound()
  } catch (undoing) {
    // The lease runs out, and recovery tries again.
    context.report(`undoing the create of ${live.record.id}`, undoing)
  }
}

/** The error that an operation kept. */
export function keptError(operation: Operation): HearthError {
  const { suggestion, ...kept } = (operation.error ?? {}) as {
    code?: string
    message?: string
    suggestion?: string
    context?: Record<string, unknown>
  }
  const code = kept.code !== undefined && Object.hasOwn(ERROR_CODES, kept.code) ? (kept.code as ErrorCode) : 'internal'
  return new HearthError(code, kept.message ?? `the ${operation.kind} failed`, {
    context: { ...kept.context },
    ...(suggestion === undefined ? {} : { suggestion }),
  })
}
