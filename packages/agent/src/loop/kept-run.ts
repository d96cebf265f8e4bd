import { setTimeout as sleep } from 'node:timers/promises'
import { HearthError, type RunKeeper, type RunLease, type RunMessage } from '@hearth/contract'
import type { EventLog } from '../events/event-log.ts'
import { isPassing, KeptEventLog } from '../events/kept-event-log.ts'
import type { AgentRun } from './agent-run.ts'
import type { AgentResult, ResumeOptions } from './options.ts'

/** A run of a keeper, and the right to write it down. */
export interface Kept {
  readonly keeper: RunKeeper
  readonly lease: RunLease
}

/** What `startAgent` and `resumeAgent` need for it. */
export type KeptOptions = Required<Pick<ResumeOptions, 'log' | 'told'>> & { readonly run: RunLease['run'] }

/** Between two attempts to hold the lease, as a part of the time that it is given for. */
const RENEWALS = 3
const LEAST_RENEWAL_MS = 100

/**
 * Works on a run that a server keeps: holds its lease, hands what people tell it to the run, and gives the lease back at the end. Another who
 * has taken it makes this one leave, before it does anything more.
 */
export async function workOn(kept: Kept, begin: (options: KeptOptions) => Promise<AgentRun>): Promise<AgentResult> {
  const { keeper, lease } = kept
  const over = new AbortController()
  try {
    const log: EventLog = new KeptEventLog(keeper, lease)
    const told = await waiting(kept, over.signal)
    const run = await begin({ log, told, run: lease.run })
    const after = told.at(-1)?.number ?? run.message
    const helpers = [hold(kept, run, over.signal), listen(kept, run, after, over.signal)]
    // A helper that fails ends the run: without it nobody could stop it, or it might not be ours any more.
    for (const helper of helpers) helper.catch((error: unknown) => run.leave(messageOf(error)))
    const result = await run.result
    over.abort()
    await Promise.allSettled(helpers)
    return result
  } finally {
    over.abort()
    await giveBack(kept)
  }
}

/** What it was told while nobody worked on it: it counts before anything is done. */
async function waiting({ keeper, lease }: Kept, signal: AbortSignal): Promise<RunMessage[]> {
  const { message, messages } = await keeper.get(lease.run)
  const found: RunMessage[] = []
  if (messages <= message) return found
  for await (const each of keeper.messages(lease.run, message, signal)) {
    found.push(each)
    if (each.number >= messages) break
  }
  return found
}

async function hold({ keeper, lease }: Kept, run: AgentRun, signal: AbortSignal): Promise<void> {
  const everyMs = Math.max(LEAST_RENEWAL_MS, (lease.until.getTime() - Date.now()) / RENEWALS)
  while (!signal.aborted) {
    await sleep(everyMs, undefined, { signal, ref: false }).catch(() => undefined)
    if (signal.aborted) return
    try {
      await keeper.renew(lease)
    } catch (error) {
      if (isPassing(error)) continue
      if (HearthError.isInstance(error) && error.code === 'conflict') return run.leave('another goes on with the run')
      throw error
    }
  }
}

async function listen({ keeper, lease }: Kept, run: AgentRun, after: number, signal: AbortSignal): Promise<void> {
  let last = after
  while (!signal.aborted) {
    try {
      for await (const message of keeper.messages(lease.run, last, signal)) {
        last = message.number
        run.tell(message)
      }
    } catch (error) {
      if (signal.aborted) return
      if (!isPassing(error)) throw error
    }
  }
}

async function giveBack({ keeper, lease }: Kept): Promise<void> {
  try {
    await keeper.release(lease)
  } catch (error) {
    // It runs out by itself.
    if (!HearthError.isInstance(error)) throw error
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
