import { createHash } from 'node:crypto'
import { mkdir, rename, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { DEFAULT_LIMITS, type Limits } from '@hearth/contract'
import type { DirectoryTemplate, Progress } from '../../templates/template.ts'
import type { RuntimeContext } from '../link-runtime.ts'
import { makeOnce } from '../staging/write-once.ts'
import { bakedDirectory, collectBaked, writeOrigin } from './baked-store.ts'
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
  /** Whether it can be given some. */
  readonly volumes: boolean
}

/** Each is about as large as the memory that a booted kernel has touched. The ones that were not used for longest go. */
export const MOST_BAKED = 12
/** Until the sandbox says its own, and nothing of it runs before. Most say the same. */
const PIDS = DEFAULT_LIMITS.pids
/**
 * What a kernel puts off while it boots would be done by every copy, in its first moments. Emulation makes that dear: each step that is taken
 * for the first time must be translated. Without it the kernel has little to put off, and nobody is made to wait.
 */
const REST_MS = 2000
/** Another number when what is done before the capture changes. */
const WARMING = 6

/** The machine of this shape, booted and captured at first use. */
export async function bakedMachine(
  parts: MachineParts,
  order: BakeOrder,
  context: RuntimeContext,
  progress: Progress,
): Promise<BakedMachine> {
  const { store, guest } = context.paths
  const directory = join(bakedDirectory(store), keyOf(parts, order))
  const baked = { directory: join(directory, 'memory'), disk: join(directory, UPPER_DISK) }
  const now = new Date()
  if (await utimes(directory, now, now).then(() => true, isAbsent)) return baked
  progress(`starting a machine of the template ${order.template.name} that others go on from`)
  await collectBaked(store, MOST_BAKED - 1)
  await makeOnce(directory, async (draft) => {
    await mkdir(draft, { mode: 0o700 })
    await writeOrigin(draft, order.template.root, [guest, parts.kernel.image, parts.qemu.program])
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
    volumes: order.volumes ? [] : null,
    memoryBytes,
    cpus,
  })
  await withTrialMachine(parts, context, describe, async (directory, link) => {
    const limits = { pids: PIDS, openFiles: DEFAULT_LIMITS.openFiles }
    await warmMachine(link, order.template, limits, order.volumes)
    if (parts.accelerator.kind === 'tcg') await sleep(REST_MS)
    // Its disk is never used without its memory.
    await link.freeze(false)
    const captureDisk = async () => await copyDisk(disk, captured)
    const target = join(draft, 'memory')
    await captureMachine({ guest, directory, memoryBytes, disk, target, captureDisk, stop: null })
  })
  // What the machine has done to its disk after it was captured is of no use.
  await rename(captured, disk)
}

function isAbsent(error: NodeJS.ErrnoException): boolean {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return false
  throw error
}
