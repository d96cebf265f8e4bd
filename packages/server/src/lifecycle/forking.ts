import { HearthError, memoryOutcome, type ForkRequest, type ForkResult } from '@hearth/contract'
import type { EmbeddedSandbox } from '@hearth/engine'
import type { Caller } from '../control-plane.ts'
import { insertForked, ownVolumes, withOwnVolumes } from '../volumes/fork-volumes.ts'
import { discardVolumes } from '../volumes/removing-volumes.ts'
import { createWithinQuota, type Operation, type SandboxRecord } from '../state/index.ts'
import type { Context } from './context.ts'
import { defaultTtlMs, planChildren } from './fork-request.ts'
import { beginForkedWorkspaces, discardForkedWorkspaces, settleForkedWorkspaces } from './fork-workspaces.ts'
import { underLease } from './lease.ts'
import type { LiveSandbox } from './live-sandbox.ts'
import { attachMachine } from './machine-end.ts'
import { failure } from './pausing.ts'
import { givenUp } from './replaying.ts'
import { settleDeadline } from './settle-deadline.ts'
import { takeUp } from './taking-up.ts'
import { beginningOf, eventOf } from './transitions.ts'
import { requireAlive } from './view.ts'
import { requireWithin } from './within-grant.ts'

/** What an operation keeps of a fork: first who the children will be, then the rest. */
export interface ForkOutcome {
  readonly children: readonly string[]
  readonly memory?: boolean
  readonly reason?: string | null
  readonly pausedMs?: number
}

export interface ForkBegun {
  readonly operation: Operation
  /** Null when the same request was begun before with the same key. */
  readonly children: readonly LiveSandbox[] | null
}

/**
 * Writes the operation, the rows of all children and their events at once, within the quota and the host's room: all of them or none.
 * Called in the turn of the parent.
 */
export async function beginFork(
  context: Context,
  parent: LiveSandbox,
  asked: { readonly caller: Caller; readonly request: ForkRequest; readonly idempotencyKey: string | null },
  admitted: DisposableStack,
): Promise<ForkBegun> {
  requireResting(parent.record)
  const { caller, request, idempotencyKey } = asked
  const { tenantId, id: sandboxId } = parent.record
  const now = Date.now()
  const rows = planChildren(parent.record, request, caller, now).map(withOwnVolumes)
  for (const row of rows) requireWithin(caller, row, now)
  const { operation, records } = await context.store.transaction(async (session) => {
    const started = await session.operations.begin({
      tenantId,
      kind: 'fork',
      sandboxId,
      request: { sandbox: sandboxId, ...request },
      idempotencyKey,
      claim: { owner: context.hostId, leaseMs: context.leaseMs },
    })
    if (!started.created) return { operation: started.operation, records: null }
    const made: SandboxRecord[] = []
    for (const [index, row] of rows.entries()) {
      admitted.use(context.admission.enter(context.live.size + index))
      const record = await createWithinQuota(session, row)
      const facts = { operation: started.operation.id, request: caller.requestId, parent: sandboxId }
      await session.events.append(eventOf(record, 'sandbox.created', { ...facts, ...beginningOf(record) }))
      await insertForked(session, parent.record, record)
      made.push(record)
    }
    await beginForkedWorkspaces(session, parent.record, made)
    const known: ForkOutcome = { children: made.map(({ id }) => id) }
    const recorded = await session.operations.recordStep(started.operation, 'begin', 'after', known)
    return { operation: recorded, records: made }
  })
  return { operation, children: records?.map((record) => context.live.ensure(record)) ?? null }
}

/** Makes the children and writes down that they run; when one cannot be, nothing of any is left. Called in the turn of the parent. */
export async function finishFork(
  context: Context,
  parent: LiveSandbox,
  { operation, children }: ForkBegun & { readonly children: readonly LiveSandbox[] },
  signals: readonly AbortSignal[],
): Promise<Operation> {
  using _turns = holdTurns(children)
  const abandoned = [parent, ...children].map((live) => live.abandoned.signal)
  try {
    return await underLease(context, operation, async (lost) => {
      context.step('fork:begun')
      const machine = await takeUp(context, parent)
      const signal = AbortSignal.any([lost, ...abandoned, ...signals])
      const result = await machine.fork(children.length, {
        ...engineOptions(parent.record, operation.request as ForkRequest),
        ids: children.map(({ record }) => record.id),
        volumeIds: children.map(({ record }) => ownVolumes(record)),
        signal,
      })
      context.step('fork:launched')
      if (signal.aborted) throw givenUp(signal)
      const done = await settleFork(context, parent, children, operation, result)
      context.step('fork:done')
      return done
    })
  } catch (error) {
    await undoFork(context, children, operation, 'failed', error)
    throw error
  }
}

function engineOptions(parent: SandboxRecord, request: ForkRequest & { readonly sandbox?: string }) {
  const { count: _count, sandbox: _sandbox, ...options } = request
  const ttlMs = options.ttlMs ?? defaultTtlMs(parent)
  return { ...options, ...(ttlMs === undefined ? {} : { ttlMs }) }
}

async function settleFork(
  context: Context,
  parent: LiveSandbox,
  children: readonly LiveSandbox[],
  operation: Operation,
  { children: machines, memory, reason, pausedMs }: ForkResult<EmbeddedSandbox>,
): Promise<Operation> {
  const outcome: ForkOutcome = { children: machines.map(({ id }) => id), memory, reason, pausedMs }
  const deadlines = await Promise.all(machines.map((machine, index) => deadlineOf(children[index], machine)))
  const settled = await context.store.transaction(async (session) => {
    const records: SandboxRecord[] = []
    for (const [index, child] of children.entries()) {
      const info = machines[index]?.info
      if (info === undefined) throw new HearthError('internal', 'the engine made fewer children than it said')
      const { rung, driver, template, limits, origin } = info
      const expiresAt = deadlines[index] ?? info.expiresAt.getTime()
      const restored = memoryOutcome(memory, reason)
      const patch = { rung, driver, template, limits, originId: origin, expiresAt, restored }
      const record = await session.sandboxes.transition(child.record, 'running', patch)
      await session.events.append(eventOf(record, 'sandbox.running', { operation: operation.id, rung, driver }))
      for (const volume of ownVolumes(record)) await session.volumes.move(volume, 'creating', 'ready')
      records.push(record)
    }
    await settleForkedWorkspaces(session, records)
    const facts = { operation: operation.id, children: outcome.children, memory }
    await session.events.append(eventOf(parent.record, 'sandbox.forked', facts))
    return { records, done: await session.operations.finish(operation, 'done', { result: outcome }) }
  })
  const attached = children.map(async (child, index) => {
    const [record, machine] = [settled.records[index], machines[index]]
    if (record === undefined || machine === undefined) return
    child.record = record
    await attachMachine(context, child, machine)
  })
  await Promise.all(attached)
  return settled.done
}

async function deadlineOf(child: LiveSandbox | undefined, machine: EmbeddedSandbox): Promise<number> {
  return child === undefined ? machine.info.expiresAt.getTime() : await settleDeadline(child.record, machine)
}

/** Takes everything back. The operation keeps the reason, for those who come with the same key. Called in the turns of all children. */
export async function undoFork(
  context: Context,
  children: readonly LiveSandbox[],
  operation: Operation,
  end: 'failed' | 'undone',
  error: unknown,
): Promise<void> {
  const reason = error instanceof Error ? error.message : String(error)
  try {
    await Promise.all(children.map(({ record }) => context.hearth.discard(record.id)))
    for (const { record } of children) await discardVolumes(context, ownVolumes(record))
    const records = await context.store.transaction(async (session) => {
      const ended: SandboxRecord[] = []
      for (const { record } of children) {
        for (const volume of ownVolumes(record)) await session.volumes.forget(volume)
        const deleting = await session.sandboxes.transition(record, 'deleting')
        const patch = { endedAt: Date.now(), endReason: reason }
        ended.push(await session.sandboxes.transition(deleting, 'deleted', patch))
        await session.events.append(eventOf(record, 'sandbox.failed', { operation: operation.id, reason }))
      }
      await discardForkedWorkspaces(
        session,
        children.map(({ record }) => record),
      )
      await session.operations.finish(operation, end, { error: failure(error) })
      return ended
    })
    for (const [index, child] of children.entries()) {
      child.record = records[index] ?? child.record
      context.live.remove(child)
    }
  } catch (undoing) {
    // The lease runs out, and recovery tries again.
    context.report(`undoing the fork ${operation.id}`, undoing)
  }
}

/** Whoever wants to change a child meanwhile waits until the fork has ended. */
export function holdTurns(children: readonly LiveSandbox[]): Disposable {
  const over = Promise.withResolvers<void>()
  for (const child of children) void child.inTurn(() => over.promise)
  return { [Symbol.dispose]: () => over.resolve() }
}

/** Running or paused: what is changing is captured when it has changed. */
export function requireResting(record: SandboxRecord): void {
  requireAlive(record)
  if (record.state === 'running' || record.state === 'paused') return
  throw new HearthError('invalid_state', `sandbox ${record.id} is ${record.state}`, {
    context: { state: record.state },
  })
}
