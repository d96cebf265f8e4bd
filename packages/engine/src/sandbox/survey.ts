import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { memoryOutcome, sandboxIdSchema, type MemoryOutcome, type SandboxId } from '@hearth/contract'
import type { HostPaths } from '../host/host.ts'
import type { OnProblem } from '../host/in-background.ts'
import { readKeeper } from '../host/keeper-process.ts'
import { isAlive } from '../host/process-identity.ts'
import { findRecord, sleeps } from './sandbox-record.ts'

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
  /** What it is cannot be told now: the host cannot read its record, or another version of Hearth wrote it. It is to be left alone. */
  readonly unclear: boolean
}

/** Looked at side by side; between these others get their turn, since some of it is read synchronously. */
const AT_ONCE = 8

/** Of those that this process holds nothing needs to be read. */
export async function surveySandboxes(
  paths: HostPaths,
  held: ReadonlySet<string>,
  onProblem: OnProblem,
): Promise<Surveyed[]> {
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
    surveyed.push(...(await Promise.all(some.map((id) => surveyOne(id, join(paths.sandboxes, id), onProblem)))))
    await setImmediate()
  }
  return surveyed
}

function heldHere(id: SandboxId): Surveyed {
  return { id, alive: true, heldHere: true, heldElsewhere: false, sleep: null, unclear: false }
}

async function surveyOne(id: SandboxId, directory: string, onProblem: OnProblem): Promise<Surveyed> {
  try {
    return await lookAt(id, directory)
  } catch (error) {
    onProblem(`looking at sandbox ${id}`, error)
    return { id, alive: false, heldHere: false, heldElsewhere: false, sleep: null, unclear: true }
  }
}

async function lookAt(id: SandboxId, directory: string): Promise<Surveyed> {
  const keeper = readKeeper(directory)
  const found = await findRecord(directory)
  if (found.kind === 'unknown') throw found.error
  // What a crash has cut off tells of nobody who holds it.
  const record = found.kind === 'record' ? found.record : null
  const held = record !== null && isAlive(record.owner)
  const here = held && record.owner.pid === process.pid
  const asleep = record !== null && sleeps(record)
  const sleep = asleep ? memoryOutcome(record.sleep.memory, record.sleep.reason) : null
  const alive = keeper !== null && isAlive(keeper)
  return { id, alive, heldHere: here, heldElsewhere: held && !here, sleep, unclear: false }
}
