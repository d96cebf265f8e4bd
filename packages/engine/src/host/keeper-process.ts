import { readFile } from 'node:fs/promises'
import { open } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { HearthError } from '@hearth/contract'
import { z } from 'zod'
import { isAlive, type ProcessIdentity } from './process-identity.ts'

/** How the runtime ended, as the keeper wrote it down. */
export interface RuntimeExit {
  readonly exitCode: number | null
  readonly signal: string | null
}

const exitSchema = z.object({ exitCode: z.number().nullable(), signal: z.union([z.string(), z.number()]).nullable() })

/** Null while the keeper lives, or when it was killed before it could write. */
export async function readRuntimeExit(directory: string): Promise<RuntimeExit | null> {
  const text = await readFile(join(directory, 'exit.json'), 'utf8').catch(() => null)
  if (text === null) return null
  const { exitCode, signal } = exitSchema.parse(JSON.parse(text))
  return { exitCode, signal: signal === null ? null : String(signal) }
}

/** Null when no keeper has registered there. */
export async function readKeeper(directory: string): Promise<ProcessIdentity | null> {
  const text = await readFile(join(directory, 'keeper.pid'), 'utf8').catch(() => null)
  const match = text === null ? null : /^(\d+) (\d+)\s*$/.exec(text)
  return match?.[1] === undefined || match[2] === undefined ? null : { pid: Number(match[1]), startTime: match[2] }
}

/** Connects to a keeper whose engine has gone. */
export async function connectKeeper(directory: string): Promise<Socket> {
  // A unix socket's path holds 107 bytes, a home may be longer: the open directory is a short name for it.
  const handle = await open(directory)
  try {
    return await new Promise<Socket>((resolve, reject) => {
      const socket = connect(`/proc/self/fd/${handle.fd}/link.sock`)
      socket.once('connect', () => resolve(socket))
      socket.once('error', (cause) => {
        reject(new HearthError('sandbox_ended', `nobody keeps the sandbox in ${directory} any more`, { cause }))
      })
    })
  } finally {
    await handle.close()
  }
}

/** SIGTERM makes a keeper end its sandbox in order; SIGKILL is for one that does not. */
export async function endKeeper(directory: string, patienceMs = 5000): Promise<void> {
  const keeper = await readKeeper(directory)
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
