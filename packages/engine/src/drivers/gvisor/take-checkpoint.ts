import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { HearthError, memoryRefused } from '@hearth/contract'
import { readKeeper } from '../../host/keeper-process.ts'

const REASON_CHARACTERS = 300

/** Where the kernel of a running sandbox can be spoken to: its socket lies in memory that only the runtime's mounts show. */
export async function controlSocket(sandboxDirectory: string, path: string): Promise<string> {
  const keeper = readKeeper(sandboxDirectory)
  if (keeper === null) throw new HearthError('sandbox_ended', 'its keeper is gone')
  const children = await readFile(`/proc/${keeper.pid}/task/${keeper.pid}/children`, 'utf8')
  const runtime = children.trim().split(' ')[0]
  if (runtime === undefined || runtime === '') throw new HearthError('sandbox_ended', 'its runtime is gone')
  return join(`/proc/${runtime}/root`, path)
}

export interface CheckpointTarget {
  /** Of the sandbox's kernel. */
  readonly socket: string
  /** Exists and is empty. */
  readonly directory: string
  /** Past the page cache of the file system that holds the directory. */
  readonly direct: boolean
}

/**
 * Writes the memory of a running sandbox into a directory and calls `standing` while nothing in it runs. It goes on afterwards, whatever
 * happens to the helper or to this process. The time that it stood still, in milliseconds.
 */
export async function takeCheckpoint(
  guest: string,
  { socket, directory, direct }: CheckpointTarget,
  standing: () => Promise<void>,
): Promise<number> {
  const helper = spawn(guest, ['checkpoint', socket, directory, ...(direct ? ['direct'] : [])], {
    env: {},
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  // One that has ended does not read; what it said tells why.
  helper.stdin.on('error', () => undefined)
  let outcome = 'failed no word from the helper'
  helper.once('error', (error) => (outcome = `failed ${error.message}`))
  try {
    for await (const line of createInterface({ input: helper.stdout })) {
      outcome = line
      if (line !== 'standing') break
      await standing()
      helper.stdin.write('\n')
    }
  } finally {
    helper.stdin.destroy()
    // It ends by itself; nobody waits for that.
    helper.unref()
  }
  const microseconds = /^done (\d+)$/.exec(outcome)?.[1]
  if (microseconds === undefined) throw checkpointFailure(outcome)
  return Number(microseconds) / 1000
}

/** As far as a sandbox may claim it, by its own kernel or our helper: a store without room is no property of what runs in it. */
function checkpointFailure(outcome: string): HearthError {
  const full = /no space left on device|disk quota exceeded/i.test(outcome)
  return full
    ? new HearthError('store_full', `the memory of the sandbox could not be written: ${explain(outcome)}`)
    : memoryRefused(explain(outcome))
}

/** The kernel of the sandbox speaks here: what it says is bounded and shown as it is. */
function explain(outcome: string): string {
  const deleted = /gofer\.dentry\(\\?"?(.{0,200}?)\\?"?\)\.beforeSave: deleted/.exec(outcome)?.[1]
  if (deleted !== undefined) return `a process has a file open that was deleted: ${deleted}`
  return outcome.replace(/^failed /, '').slice(0, REASON_CHARACTERS)
}
