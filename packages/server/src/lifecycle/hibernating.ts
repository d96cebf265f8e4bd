import { HearthError, type MemoryMode, type MemoryOutcome } from '@hearth/contract'
import type { EmbeddedSandbox } from '@hearth/engine'
import { assertTransition, requireQuota } from '../state/index.ts'
import type { Context } from './context.ts'
import { underLease } from './lease.ts'
import type { LiveSandbox } from './live-sandbox.ts'
import { attachMachine, endWithout } from './machine-end.ts'
import { failure } from './pausing.ts'
import { takeUp } from './taking-up.ts'
import { beginOperation, settleOperation } from './transitions.ts'
import { requireAlive } from './view.ts'

/** What must be known to undo a hibernation in another life of the server. */
export interface HibernateRequest {
  readonly from: 'running' | 'paused'
  readonly memory: MemoryMode
}

/** Called in turn. Does nothing to one that is hibernated. What somebody began to use meanwhile does not become idle. */
export async function hibernateSandbox(
  context: Context,
  live: LiveSandbox,
  cause: 'request' | 'idle',
  memory: MemoryMode = 'auto',
): Promise<void> {
  requireAlive(live.record)
  if (live.record.state === 'hibernated') return
  assertTransition(live.record.state, 'hibernating')
  const machine = await takeUp(context, live)
  const from = live.record.state === 'paused' ? 'paused' : 'running'
  const request: HibernateRequest = { from, memory }
  const { record, operation } = await beginOperation(context, live.record, 'hibernate', 'hibernating', { request })
  live.record = record
  context.step('hibernate:begun')
  try {
    if (cause === 'idle' && live.inUse) throw new HearthError('conflict', 'somebody began to use it')
    const outcome = await underLease(context, operation, () => machine.hibernate({ memory })).catch((error: unknown) =>
      sleepsAllTheSame(context, machine, error),
    )
    context.step('hibernate:asleep')
    live.machine = null
    live.record = await settleOperation(context, record, {
      operation,
      end: 'done',
      states: ['hibernated'],
      patch: { hibernation: outcome },
      event: { type: 'sandbox.hibernated', data: { cause, ...outcome } },
    })
  } catch (error) {
    // Written down nowhere that it sleeps: recovery looks at what there is.
    if (live.machine === null) throw error
    live.record = await settleOperation(context, record, {
      operation,
      end: 'undone',
      states: [from],
      error: failure(error),
    })
    throw error
  }
  live.watchDeadline()
  context.step('hibernate:done')
}

/** Once the engine has written down that it sleeps it does, whatever failed afterwards. */
async function sleepsAllTheSame(context: Context, machine: EmbeddedSandbox, error: unknown): Promise<MemoryOutcome> {
  const { id, state } = machine.info
  const found = state === 'hibernated' ? (await context.hearth.survey()).find((entry) => entry.id === id) : undefined
  if (!found?.sleep) throw error
  context.report(`putting ${id} to sleep`, error)
  return found.sleep
}

/** Called in turn, for one that is hibernated. Counts against the quota and the host's room, as a create does. */
export async function wakeSandbox(
  context: Context,
  live: LiveSandbox,
  memory: MemoryMode = 'auto',
): Promise<EmbeddedSandbox> {
  if (isOverdue(live)) await endAsleep(context, live)
  requireAlive(live.record)
  using _admitted = context.admission.enter(context.live.size)
  const { tenantId, limits, hibernation } = live.record
  const { record, operation } = await beginOperation(context, live.record, 'wake', 'waking', {
    check: async (session) => {
      const { cpus, memoryBytes } = limits
      await requireQuota(session, tenantId, { sandboxes: 1, cpus, memoryBytes })
    },
  })
  live.record = record
  context.step('wake:begun')
  let machine: EmbeddedSandbox
  try {
    machine = await underLease(context, operation, (lost) => {
      const signal = AbortSignal.any([lost, live.abandoned.signal])
      return context.hearth.wake(record.id, { memory, signal })
    })
  } catch (error) {
    const undone = { operation, end: 'undone', states: ['hibernated'], error: failure(error) } as const
    live.record = await settleOperation(context, record, undone)
    live.watchDeadline()
    throw error
  }
  context.step('wake:launched')
  await attachMachine(context, live, machine)
  const goesOn = memory !== 'none' && hibernation?.memory === true
  live.record = await settleOperation(context, record, {
    operation,
    end: 'done',
    states: ['running'],
    patch: { hibernation: null, driver: machine.info.driver },
    event: { type: 'sandbox.woken', data: { memory: goesOn } },
  })
  live.watchIdleness()
  context.step('wake:done')
  return machine
}

function isOverdue({ record: { state, expiresAt } }: LiveSandbox): boolean {
  return state === 'hibernated' && expiresAt !== null && Date.now() >= expiresAt
}

/** Its deadline came while it slept. Called in turn. */
export async function endAsleep(context: Context, live: LiveSandbox): Promise<void> {
  if (!isOverdue(live)) return
  await context.hearth.discard(live.record.id)
  await endWithout(context, live, 'stopped', 'expired')
}

/** Moves the deadline where it is kept; a machine that is not taken up yet gets it then. Called in turn. */
export async function moveDeadline(context: Context, live: LiveSandbox, expiresAt: number): Promise<void> {
  if (live.record.state === 'hibernated') {
    await context.hearth.expireAt(live.record.id, new Date(expiresAt))
    live.watchDeadline()
  } else await live.machine?.expireAt(new Date(expiresAt))
}
