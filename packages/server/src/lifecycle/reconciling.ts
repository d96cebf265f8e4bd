import { BOUNDS, type SandboxState } from '@hearth/contract'
import type { Surveyed } from '@hearth/engine'
import type { Context } from './context.ts'
import { moveDeadline } from './hibernating.ts'
import type { LiveSandbox } from './live-sandbox.ts'
import { guarded } from './guarded.ts'
import { endWithout } from './machine-end.ts'
import { takeUp } from './taking-up.ts'

/** States in which nothing is under way. */
const RESTING: readonly SandboxState[] = ['running', 'paused', 'hibernated']

/** Machines taken up side by side: each is a connection and a greeting. */
const TAKEN_UP_AT_ONCE = 16

/**
 * Compares the rows with what is on this host, both ways: a row without a machine has ended, a machine without a row is
 * ended. Operations under way are left to those who hold them. What fails of one sandbox is told, and tried again in the next round.
 */
export async function reconcile(context: Context): Promise<void> {
  // First what is there, then the rows: a row is written before its sandbox is handed out, and outlives it.
  const surveyed = await context.hearth.survey()
  const byId = new Map<string, Surveyed>(surveyed.map((entry) => [entry.id, entry]))
  const known = new Set<string>()
  const gone: LiveSandbox[] = []
  for await (const record of context.store.sandboxes.scan({ hostId: context.hostId, states: RESTING })) {
    known.add(record.id)
    const live = context.live.ensure(record)
    if (live.machine === null && !isThere(byId.get(record.id))) gone.push(live)
    live.watchDeadline()
  }
  await inParallel(gone, (live) => guarded(context, `the end of ${live.record.id}`, () => endGone(context, live)))
  for (const live of context.live) {
    // Its row was read just before it ended.
    if (live.machine === null && isResting(live.record.state) && !known.has(live.record.id)) context.live.remove(live)
  }
  await inParallel(surveyed, (entry) =>
    guarded(context, `removing ${entry.id}`, () => removeOrphan(context, entry, known)),
  )
}

async function endGone(context: Context, live: LiveSandbox): Promise<void> {
  await live.inTurn(async () => {
    const { id, state } = live.record
    if (live.machine !== null || !RESTING.includes(state)) return
    // It may have woken and slept again since.
    if (state === 'hibernated' && isThere((await context.hearth.survey()).find((entry) => entry.id === id))) return
    await context.hearth.discard(live.record.id)
    await endWithout(context, live, 'stopped', 'gone: it ended while the server was away')
  })
}

async function removeOrphan(context: Context, entry: Surveyed, known: ReadonlySet<string>): Promise<void> {
  // What this process holds without a row is the engine's own: it looks into a snapshot, for example, and ends it itself.
  if (entry.heldElsewhere || entry.heldHere || entry.unclear) return
  if (known.has(entry.id) || context.live.get(entry.id) !== null || context.early.has(entry.id)) return
  const record = await context.store.sandboxes.find(entry.id)
  const owned = record !== null && record.state !== 'stopped' && record.state !== 'failed'
  if (!owned) await context.hearth.discard(entry.id)
}

/** Connects to every machine that runs, so that the first call of each finds it ready and its deadline is kept. */
export async function takeUpAll(context: Context): Promise<void> {
  const waiting = [...context.live].filter(({ machine, record }) => machine === null && isResting(record.state))
  await inParallel(waiting, (live) =>
    guarded(context, `taking up ${live.record.id}`, () =>
      live.inTurn(async () => {
        if (isResting(live.record.state)) await takeUp(context, live)
      }),
    ),
  )
}

/** At rest, and with a machine. */
function isResting(state: SandboxState): boolean {
  return state === 'running' || state === 'paused'
}

/** It runs, is paused or sleeps, or nobody can tell now that it does not. */
function isThere(entry: Surveyed | undefined): boolean {
  return entry !== undefined && (entry.alive || entry.sleep !== null || entry.unclear)
}

/** The engine gives every sandbox a deadline; that of a persistent one never comes near. */
export async function rearmPersistent(context: Context): Promise<void> {
  const near = Date.now() + BOUNDS.maximumTtlMs / 2
  const sleeping = [...context.live].filter(({ record }) => record.persistent && record.state === 'hibernated')
  const infos = sleeping.length === 0 ? [] : await context.hearth.list()
  for (const live of sleeping) {
    const info = infos.find(({ id }) => id === live.record.id)
    if (info === undefined || info.expiresAt.getTime() > near) continue
    const move = (): Promise<void> => moveDeadline(context, live, Date.now() + BOUNDS.maximumTtlMs)
    await guarded(context, `the deadline of ${live.record.id}`, () => live.inTurn(move))
  }
  for (const { record, machine } of context.live) {
    if (!record.persistent || machine === null || machine.info.expiresAt.getTime() > near) continue
    const later = new Date(Date.now() + BOUNDS.maximumTtlMs)
    await guarded(context, `the deadline of ${record.id}`, () => machine.expireAt(later))
  }
}

async function inParallel<Item>(items: readonly Item[], work: (item: Item) => Promise<unknown>): Promise<void> {
  const queue = items.values()
  const worker = async (): Promise<void> => {
    for (const item of queue) await work(item)
  }
  await Promise.all(Array.from({ length: TAKEN_UP_AT_ONCE }, worker))
}
