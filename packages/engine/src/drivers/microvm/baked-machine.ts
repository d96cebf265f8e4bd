import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DEFAULT_LIMITS, type Limits } from '@hearth/contract'
import type { DirectoryTemplate, Progress } from '../../templates/template.ts'
import type { RuntimeContext } from '../link-runtime.ts'
import { makeOnce } from '../staging/write-once.ts'
import { captureMachine } from './capture-machine.ts'
import { emptyMemory } from './empty-memory.ts'
import type { MachineFacts } from './machine-facts.ts'
import type { MachineParts } from './machine-plan.ts'
import { withTrialMachine } from './trial-machine.ts'
import { copyDisk, emptyDisk, UPPER_DISK } from './upper-disk.ts'
import { warmMachine } from './warm-machine.ts'

/** A machine that was booted once and stands still since, just before it is told who it is. Every sandbox of its shape goes on from it. */
export interface BakedMachine {
  /** Of the captured files. */
  readonly directory: string
  readonly disk: string
}

export interface BakeOrder {
  readonly template: DirectoryTemplate
  readonly base: string
  readonly limits: Pick<Limits, 'memoryBytes' | 'cpus' | 'diskBytes'>
  readonly facts: MachineFacts
}

/** Each is about as large as the memory that a booted kernel has touched. The ones that were not used for longest go. */
const MOST_BAKED = 12
/** Longer than one is made. */
const DRAFT_MS = 60 * 60_000
/** Which root it was made from, so that it goes when that is gone. */
const ORIGIN = 'origin'
/** Until the sandbox says its own, and nothing of it runs before. Most say the same. */
const PIDS = DEFAULT_LIMITS.pids
/** Another number when what is done before the capture changes. */
const WARMING = 3

/** The machine of this shape, booted and captured at first use. */
export async function bakedMachine(
  parts: MachineParts,
  order: BakeOrder,
  context: RuntimeContext,
  progress: Progress,
): Promise<BakedMachine> {
  const parent = join(context.paths.store, 'baked')
  const directory = join(parent, keyOf(parts, order))
  const baked = { directory: join(directory, 'memory'), disk: join(directory, UPPER_DISK) }
  const now = new Date()
  if (await utimes(directory, now, now).then(() => true, isAbsent)) return baked
  progress(`starting a machine of the template ${order.template.name} that others go on from`)
  await makeRoom(parent)
  await makeOnce(directory, async (draft) => {
    await mkdir(draft, { mode: 0o700 })
    await writeFile(join(draft, ORIGIN), order.template.root)
    await bake(parts, order, context, draft)
  })
  return baked
}

/** Everything that what is in its memory depends on. */
function keyOf(parts: MachineParts, order: BakeOrder): string {
  const { kernel, initramfs, qemu } = parts
  const key = [order.template.digest, kernel.digest, initramfs.digest, qemu.build, WARMING, PIDS, order.facts]
  return createHash('sha256').update(JSON.stringify(key)).digest('hex').slice(0, 40)
}

async function bake(parts: MachineParts, order: BakeOrder, context: RuntimeContext, draft: string): Promise<void> {
  const { cache, guest } = context.paths
  const { memoryBytes, cpus, diskBytes } = order.limits
  const disk = join(draft, UPPER_DISK)
  const captured = `${disk}.captured`
  const describe = async () => ({
    base: order.base,
    upper: { path: disk, from: await emptyDisk(cache, diskBytes) },
    memory: await emptyMemory(cache, memoryBytes),
    start: { kind: 'boot', pids: PIDS } as const,
    memoryBytes,
    cpus,
  })
  await withTrialMachine(parts, context, describe, async (directory, link) => {
    await warmMachine(link, order.template, { pids: PIDS, openFiles: DEFAULT_LIMITS.openFiles })
    // Its disk is never used without its memory.
    await link.freeze(false)
    const captureDisk = async () => await copyDisk(disk, captured)
    await captureMachine({ guest, directory, memoryBytes, disk, target: join(draft, 'memory'), captureDisk })
  })
  // What the machine has done to its disk after it was captured is of no use.
  await rename(captured, disk)
}

/** Those of roots that were removed, and the oldest. A machine that goes on from one has its memory open. */
async function makeRoom(parent: string): Promise<void> {
  const names = await readdir(parent).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  const found = await Promise.all(
    names.map(async (name) => {
      const path = join(parent, name)
      const origin = await readFile(join(path, ORIGIN), 'utf8').catch(() => null)
      const present = origin !== null && (await stat(origin).then(() => true, isAbsent))
      const usedMs = await stat(path).then(
        ({ mtimeMs }) => mtimeMs,
        () => 0,
      )
      // A name with a dot is one that another process is making, or was when it died.
      const draft = name.includes('.')
      return { path, draft, usedMs: present && !(draft && usedMs < Date.now() - DRAFT_MS) ? usedMs : 0 }
    }),
  )
  const kept = found
    .filter(({ usedMs, draft }) => usedMs > 0 && !draft)
    .toSorted((a, b) => b.usedMs - a.usedMs)
    .slice(0, MOST_BAKED - 1)
  const gone = found.filter((one) => (one.draft ? one.usedMs === 0 : !kept.includes(one)))
  for (const { path } of gone) await rm(path, { recursive: true, force: true })
}

function isAbsent(error: NodeJS.ErrnoException): boolean {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return false
  throw error
}
