import { existsSync, readFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { HearthError } from '@hearth/contract'
import { z } from 'zod'
import type { LeanSocket } from '../link/lean-socket.ts'
import { connectLink } from '../link/link-socket.ts'
import { isAlive, type ProcessIdentity } from './process-identity.ts'

/** How the runtime ended, as the keeper wrote it down. */
export interface RuntimeExit {
  readonly exitCode: number | null
  readonly signal: number | null
  readonly reason: 'exited' | 'told' | 'violation' | 'closed' | 'abandoned' | 'expired'
  /** What the kernel has killed in it for want of memory. Keepers of an older version do not say. */
  readonly oomKills: number
}

const exitSchema = z.object({
  exitCode: z.number().nullable(),
  signal: z.number().nullable(),
  reason: z.enum(['exited', 'told', 'violation', 'closed', 'abandoned', 'expired']),
  oomKills: z.number().default(0),
})

/** Null while the keeper lives, or when it was killed before it could write; unreadable when the host had no room for all of it. */
export function readRuntimeExit(directory: string): RuntimeExit | 'unreadable' | null {
  const text = readIfPresent(join(directory, 'exit.json'))
  if (text === null) return null
  try {
    return exitSchema.safeParse(JSON.parse(text)).data ?? 'unreadable'
  } catch {
    return 'unreadable'
  }
}

/** Null when no keeper has registered there, or when it has ended in order. */
export function readKeeper(directory: string): ProcessIdentity | null {
  const text = readIfPresent(join(directory, 'keeper.pid'))
  const match = text === null ? null : /^(\d+) (\d+)\s*$/.exec(text)
  return match?.[1] === undefined || match[2] === undefined ? null : { pid: Number(match[1]), startTime: match[2] }
}

/** How the sandbox of that directory ended, in words; null while its keeper lives. */
function describeEnd(directory: string): string | null {
  const exit = readRuntimeExit(directory)
  if (exit === 'unreadable') return 'it ended, and what its keeper noted about that cannot be read'
  if (exit !== null) {
    if (exit.reason !== 'exited') return exit.reason
    return exit.signal === null ? `exit code ${exit.exitCode}` : `signal ${exit.signal}`
  }
  const keeper = readKeeper(directory)
  return keeper !== null && isAlive(keeper) ? null : 'its keeper is gone'
}

/** How a runtime ends that was killed: by itself, or as the shell has it. */
const KILLED = /^(signal 9|exit code 137)$/

/**
 * The same, and whether that was for memory: then the kernel has killed more in it than `known`, and the runtime too, with all that ran
 * in it.
 */
export function explainEnd(
  directory: string,
  known: number,
): { readonly detail: string; readonly oom: boolean } | null {
  const detail = describeEnd(directory)
  if (detail === null) return null
  const exit = readRuntimeExit(directory)
  const oomKills = exit === null || exit === 'unreadable' ? 0 : exit.oomKills
  const oom = oomKills > known && KILLED.test(detail)
  return { detail: oom ? `out of memory (${detail})` : detail, oom }
}

/** Whether its keeper has stopped everything in the sandbox. */
export function isPaused(directory: string): boolean {
  return existsSync(join(directory, 'paused'))
}

function readIfPresent(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** Connects to a keeper whose engine has gone. */
export async function connectKeeper(directory: string): Promise<LeanSocket> {
  return await connectTo(directory, 'link.sock').catch((cause: NodeJS.ErrnoException) => {
    throw noKeeper(directory, cause)
  })
}

/** Connects to the guest itself; null where it has no lane. */
export async function connectLane(directory: string): Promise<LeanSocket | null> {
  return await connectTo(directory, 'lane.sock').catch(() => null)
}

async function connectTo(directory: string, name: string): Promise<LeanSocket> {
  // A unix socket's path holds 107 bytes, a home may be longer: the open directory is a short name for it.
  const handle = await open(directory)
  try {
    return await new Promise<LeanSocket>((resolve, reject) => {
      const socket = connectLink(`/proc/self/fd/${handle.fd}/${name}`)
      socket.once('connect', () => resolve(socket))
      socket.once('error', reject)
    })
  } finally {
    await handle.close()
  }
}

/** Only a keeper that is not there any more says that its sandbox has ended: this process may lack what a connection needs. */
function noKeeper(directory: string, cause: NodeJS.ErrnoException): HearthError {
  return cause.code === 'ECONNREFUSED' || cause.code === 'ENOENT'
    ? new HearthError('sandbox_ended', `nobody keeps the sandbox in ${directory} any more`, { cause })
    : new HearthError('link_lost', `the keeper of ${directory} cannot be reached: ${cause.message}`, { cause })
}

/** SIGTERM makes a keeper end its sandbox in order; SIGKILL is for one that does not. */
export async function endKeeper(directory: string, patienceMs = 5000): Promise<void> {
  const keeper = readKeeper(directory)
  if (keeper === null) return
  const until = performance.now() + patienceMs
  signal(keeper, 'SIGTERM')
  while (isAlive(keeper)) {
    if (performance.now() > until) signal(keeper, 'SIGKILL')
    await sleep(5)
  }
}

function signal(identity: ProcessIdentity, name: NodeJS.Signals): void {
  if (!isAlive(identity)) return
  try {
    process.kill(identity.pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
