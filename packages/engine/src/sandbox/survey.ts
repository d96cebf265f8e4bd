import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { memoryOutcome, sandboxIdSchema, type MemoryOutcome, type SandboxId } from '@hearth/contract'
import type { HostPaths } from '../host/host.ts'
import { readKeeper } from '../host/keeper-process.ts'
import { isAlive } from '../host/process-identity.ts'
import { readRecord, sleeps } from './sandbox-record.ts'

/** One directory of a sandbox. */
export interface Surveyed {
  readonly id: SandboxId
  /** Its keeper lives: it runs, or is paused. */
  readonly alive: boolean
  /** This process holds it: it made it, or took it up. */
  readonly heldHere: boolean
  /** Another process than this one holds it, and lives. */
  readonly heldElsewhere: boolean
  /** It sleeps: whether its processes do, or why not. */
  readonly sleep: MemoryOutcome | null
}

/** Looked at side by side; between these others get their turn, since some of it is read synchronously. */
const AT_ONCE = 8

/** Of those that this process holds nothing needs to be read. */
export async function surveySandboxes(paths: HostPaths, held: ReadonlySet<string>): Promise<Surveyed[]> {
  const names = await readdir(paths.sandboxes).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  const ids = names
    .map((name) => sandboxIdSchema.safeParse(name))
    .flatMap(({ data }) => (data === undefined ? [] : [data]))
  const surveyed = ids.filter((id) => held.has(id)).map(heldHere)
  const others = ids.filter((id) => !held.has(id))
  for (let start = 0; start < others.length; start += AT_ONCE) {
    const some = others.slice(start, start + AT_ONCE)
    surveyed.push(...(await Promise.all(some.map((id) => surveyOne(id, join(paths.sandboxes, id))))))
    await setImmediate()
  }
  return surveyed
}

function heldHere(id: SandboxId): Surveyed {
  return { id, alive: true, heldHere: true, heldElsewhere: false, sleep: null }
}

async function surveyOne(id: SandboxId, directory: string): Promise<Surveyed> {
  const keeper = readKeeper(directory)
  // A record that cannot be read was left by a crash while it was written; nobody holds what it tells of.
  const record = await readRecord(directory).catch(() => null)
  const held = record !== null && isAlive(record.owner)
  const here = held && record.owner.pid === process.pid
  const asleep = record !== null && sleeps(record)
  const sleep = asleep ? memoryOutcome(record.sleep.memory, record.sleep.reason) : null
  return { id, alive: keeper !== null && isAlive(keeper), heldHere: here, heldElsewhere: held && !here, sleep }
}
