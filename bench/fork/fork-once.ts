import { setTimeout as sleep } from 'node:timers/promises'
import type { EmbeddedSandbox } from '@hearth/engine'
import type { BenchContext } from '../context.ts'
import { firstOutput } from '../metrics/first-output.ts'

/** Until gVisor has started the containers that wait for the next restore. Nobody can be asked whether it has. */
const AHEAD_MS = 1000

export interface ForkSample {
  readonly pausedMs: number
  /** Until every child was handed out: its guest has answered and confirmed who it is. */
  readonly handedOutMs: number
  /** Until every child has said something by its first command. */
  readonly answeredMs: number
}

/** Looks at children that live. Where it is given, the times are of no use. */
export interface Looks {
  readonly handedOut?: (children: readonly EmbeddedSandbox[]) => Promise<void> | void
  readonly answered?: (children: readonly EmbeddedSandbox[]) => Promise<void> | void
}

/** Forks, has every child answer and ends them. */
export async function forkOnce(
  context: BenchContext,
  parent: EmbeddedSandbox,
  count: number,
  looks: Looks = {},
): Promise<ForkSample> {
  await settle(context)
  const start = performance.now()
  const { children, pausedMs } = await parent.fork(count)
  const handedOutMs = performance.now() - start
  try {
    await looks.handedOut?.(children)
    const moments = await Promise.all(children.map((child) => firstOutput(child, context.capabilities)))
    await looks.answered?.(children)
    return { pausedMs, handedOutMs, answeredMs: Math.max(...moments) - start }
  } finally {
    await Promise.all(children.map((child) => child.kill()))
  }
}

/** What is made ahead is there again, as it would be at an agent's pace. */
export async function settle({ hearth, rung }: BenchContext): Promise<void> {
  await hearth.warm()
  if (rung === 'gvisor') await sleep(AHEAD_MS)
}
