import { writeFileSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { KeeperNursery } from '../../host/keeper-nursery.ts'
import { endKeeper } from '../../host/keeper-process.ts'
import { launchOnKeeper, prepareKeeper } from '../../host/keeper.ts'
import { isAlive, ownIdentity } from '../../host/process-identity.ts'
import { Link } from '../../link/link.ts'
import type { RuntimeContext } from '../link-runtime.ts'
import { machinePlan, type MachineParts, type MachineSpecification } from './machine-plan.ts'

const LONGEST_MS = 5 * 60_000
const PREFIX = 'trial-'
const OWNER = 'owner'
/** Between a directory and the note of its owner there is a moment. */
const GRACE_MS = 60_000
/** Just below the ids that sandboxes get. */
const ID_BASE = 0x4000_0000 - 65_536

/** Fills in what the machine needs of its temporary directory. */
type Describe = (
  directory: string,
  idBase: number | null,
) => Promise<Omit<MachineSpecification, 'directory' | 'idBase'>>

/**
 * Starts a machine that belongs to no sandbox, lets `use` greet it and do its work, and ends it. Throws with what QEMU said when that fails.
 */
export async function withTrialMachine<Result>(
  parts: MachineParts,
  { paths, facts }: RuntimeContext,
  describe: Describe,
  use: (directory: string, link: Link) => Promise<Result>,
): Promise<Result> {
  await mkdir(paths.cache, { recursive: true })
  const directory = await mkdtemp(join(paths.cache, PREFIX))
  const { pid, startTime } = ownIdentity()
  writeFileSync(join(directory, OWNER), `${pid} ${startTime}`)
  // Should this process die and nobody sweep, the keeper ends the machine then.
  await writeFile(join(directory, 'deadline'), String(Date.now() + LONGEST_MS))
  await using nursery = new KeeperNursery(paths.guest, paths.home)
  const keeper = await prepareKeeper(nursery, { directories: [] })
  try {
    const idBase = facts.root ? ID_BASE : null
    const specification = { ...(await describe(directory, idBase)), directory, idBase }
    await launchOnKeeper(keeper, directory, await machinePlan(parts, specification, facts), [])
    return await use(directory, new Link(keeper.socket))
  } catch (cause) {
    const log = await readFile(join(directory, 'runtime.log'), 'utf8').catch(() => '')
    throw new Error(log.trim() === '' ? (cause as Error).message : log.trim().slice(-500), { cause })
  } finally {
    keeper.socket.destroy()
    await endKeeper(directory)
    await rm(directory, { recursive: true, force: true })
  }
}

/** Ends the machines of processes that died in the middle of it. */
export async function sweepTrials(cache: string): Promise<void> {
  const names = await readdir(cache).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  for (const name of names.filter((entry) => entry.startsWith(PREFIX))) {
    const directory = join(cache, name)
    const owner = await readFile(join(directory, OWNER), 'utf8').catch(() => '')
    const [, pid, startTime] = /^(\d+) (\d+)$/.exec(owner) ?? []
    const made = await stat(directory).catch(() => null)
    const owned =
      pid === undefined || startTime === undefined
        ? made === null || Date.now() - made.mtimeMs < GRACE_MS
        : isAlive({ pid: Number(pid), startTime })
    if (owned) continue
    await endKeeper(directory)
    await rm(directory, { recursive: true, force: true })
  }
}
