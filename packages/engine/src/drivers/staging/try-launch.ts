import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { DEFAULT_LIMITS, newSandboxId } from '@hearth/contract'
import { endKeeper } from '../../host/keeper-process.ts'
import { KeeperNursery } from '../../host/keeper-nursery.ts'
import { launchOnKeeper, prepareKeeper } from '../../host/keeper.ts'
import { Link } from '../../link/link.ts'
import { readHostTemplate } from '../../templates/host-template.ts'
import type { DiskArea, LinkRuntime, RuntimeContext } from '../link-runtime.ts'
import { IDS } from './staged-root.ts'

const TRIAL_TIMEOUT_MS = 15_000
/** Just below the ids that sandboxes get. */
const TRIAL_ID_BASE = 0x4000_0000 - IDS
const TRIAL_DISK_BYTES = 16 * 1024 * 1024

export type Trial =
  | {
      readonly works: true
      /** Of Welcome. */
      readonly features: number
    }
  | { readonly works: false; readonly reason: string }

/**
 * Starts a machine as a launch would, waits until its guest answers, and ends it. Nothing less tells whether the
 * kernel, its settings and the file system below Hearth's home let the runtime work. Never throws.
 */
export async function tryLaunch(runtime: Pick<LinkRuntime, 'plan'>, context: RuntimeContext): Promise<Trial> {
  try {
    await mkdir(context.paths.cache, { recursive: true, mode: 0o700 })
    const directory = await mkdtemp(join(context.paths.cache, 'trial-'))
    try {
      return await launchIn(directory, runtime, context)
    } finally {
      await rm(directory, { recursive: true, force: true })
    }
  } catch (error) {
    return { works: false, reason: messageOf(error) }
  }
}

async function launchIn(
  directory: string,
  runtime: Pick<LinkRuntime, 'plan'>,
  context: RuntimeContext,
): Promise<Trial> {
  const disk = await trialDisk(directory)
  const request = {
    id: newSandboxId(),
    directory,
    template: await readHostTemplate(context.paths),
    from: null,
    limits: DEFAULT_LIMITS,
    volumes: [],
    hostname: 'trial',
    environment: {},
    workdir: '/',
    user: 'root',
  }
  const plan = await runtime.plan({ request, disk, idBase: context.facts.root ? TRIAL_ID_BASE : null }, context)
  await using nursery = new KeeperNursery(context.paths.guest, context.paths.home)
  const keeper = await prepareKeeper(nursery, { directories: [] })
  try {
    await launchOnKeeper(keeper, directory, { ...plan, steps: [...disk.steps, ...plan.steps] }, [])
    const { features } = await new Link(keeper.socket).hello({ timeoutMs: TRIAL_TIMEOUT_MS })
    return { works: true, features }
  } catch (error) {
    const log = await readFile(join(directory, 'runtime.log'), 'utf8').catch(() => '')
    return { works: false, reason: log.trim() === '' ? messageOf(error) : log.trim().slice(-500) }
  } finally {
    keeper.socket.destroy()
    await endKeeper(directory)
  }
}

async function trialDisk(directory: string): Promise<DiskArea> {
  const path = join(directory, 'disk')
  await mkdir(path, { mode: 0o711 })
  const steps = [{ kind: 'tmpfs', target: path, data: `size=${TRIAL_DISK_BYTES},mode=0711` } as const]
  return { path, kind: 'memory', steps, layers: [] }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
