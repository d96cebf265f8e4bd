import { chown, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { endKeeper } from '../../host/keeper-process.ts'
import { KeeperNursery } from '../../host/keeper-nursery.ts'
import { launchOnKeeper, prepareKeeper } from '../../host/keeper.ts'
import { Link } from '../../link/link.ts'
import type { RuntimeContext } from '../link-runtime.ts'
import { machinePlan, type MachineParts } from './machine-plan.ts'
import { makeUpperDisk } from './upper-disk.ts'

/** Just below the ids that sandboxes get. */
const ID_BASE = 0x4000_0000 - 65_536
const MiB = 1024 * 1024

/**
 * Starts a machine as every launch does, on two empty disks, waits until its guest answers, and ends it. Throws with what QEMU said
 * when there is no answer.
 */
export async function bootOnce(
  parts: MachineParts,
  { paths, facts }: RuntimeContext,
  timeoutMs: number,
): Promise<void> {
  await mkdir(paths.cache, { recursive: true })
  const directory = await mkdtemp(join(paths.cache, 'trial-'))
  await using nursery = new KeeperNursery(paths.guest, paths.home)
  const keeper = await prepareKeeper(nursery, { directories: [] })
  try {
    const [base, upper] = [join(directory, 'base'), join(directory, 'upper')]
    for (const disk of [base, upper]) await makeUpperDisk(paths.cache, disk, 16 * MiB)
    const idBase = facts.root ? ID_BASE : null
    if (idBase !== null) for (const disk of [base, upper]) await chown(disk, idBase, idBase)
    const plan = machinePlan(parts, { base, upper, memoryBytes: 128 * MiB, cpus: 1, pids: 64, idBase }, facts)
    await launchOnKeeper(keeper, directory, plan, [])
    await new Link(keeper.socket).hello({ timeoutMs })
  } catch (cause) {
    const log = await readFile(join(directory, 'runtime.log'), 'utf8').catch(() => '')
    throw new Error(log.trim() === '' ? (cause as Error).message : log.trim().slice(-500), { cause })
  } finally {
    keeper.socket.destroy()
    await endKeeper(directory)
    await rm(directory, { recursive: true, force: true })
  }
}
