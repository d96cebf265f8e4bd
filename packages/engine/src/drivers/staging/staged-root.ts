import { basename, dirname, join } from 'node:path'
import type { HostPaths } from '../../host/host.ts'
import type { Template } from '../../templates/template.ts'
import type { LaunchPlan, Step } from '../launch-plan.ts'
import type { DiskArea, PlanInput, RuntimeContext } from '../link-runtime.ts'
import { hostRoot, mountedParts } from './host-root.ts'
import { stageVolumes } from './staged-volumes.ts'

/**
 * Where the parts of a root are put together when Hearth is root: the runtime works under the sandbox's ids, which
 * cannot pass through Hearth's home, so the keeper mounts everything here. Each keeper sees only its own mounts.
 */
const STAGE = '/run/hearth-stage'

export const IDS = 65_536

/** Where the guest lies in every sandbox. */
export const GUEST_PATH = '/.hearth/guest'

/** A root that the keeper's steps put together, seen from where the runtime is executed. */
export interface StagedRoot {
  readonly steps: readonly Step[]
  /** The directory that holds all of this. */
  readonly stage: string
  /** The root: writable, every byte of it in the disk area. */
  readonly root: string
  readonly guest: string
  /** To be mounted on the root, read-only. */
  readonly mounts: readonly { readonly source: string; readonly target: string }[]
  /** To be mounted on the root after that; the places are there. */
  readonly volumes: readonly { readonly source: string; readonly target: string; readonly readOnly: boolean }[]
}

/** Seen from where the runtime of the sandbox in that directory is executed. */
export function stagePath(directory: string, isRoot: boolean): string {
  return isRoot ? STAGE : join(directory, 'stage')
}

export async function stageRoot(input: PlanInput, { paths }: RuntimeContext): Promise<StagedRoot> {
  const { request, disk, idBase } = input
  const { template } = request
  const mounts = template.kind === 'host' ? mountedParts(template) : []
  const lower = [...disk.layers, await lowerLayer(template, paths)].join(':')
  const stage = stagePath(request.directory, idBase !== null)
  const at = { root: join(stage, 'root'), disk: join(stage, 'disk'), guest: join(stage, 'guest') }
  const upper = join(at.disk, 'upper')
  const work = join(at.disk, 'work')
  const steps: Step[] = [
    ...[stage, at.root, at.disk, at.guest].map((path) => ({ kind: 'mkdir', path, mode: 0o755 }) as const),
    ...openArea(disk, idBase, at.disk),
    { kind: 'bind', source: dirname(paths.guest), target: at.guest, options: ['ro'] },
    { kind: 'overlay', target: at.root, lower, upper, work, options: idBase === null ? ['userxattr'] : ['idmap'] },
    ...checkPlaces(at.root, mounts),
  ]
  const volumes = stageVolumes(request.volumes, stage, idBase)
  const places = volumes.mounts.map(({ target }) => ({ kind: 'place', root: at.root, path: target }) as const)
  return {
    steps: [...steps, ...volumes.steps, ...places],
    stage,
    root: at.root,
    guest: join(at.guest, basename(paths.guest)),
    mounts,
    volumes: volumes.mounts,
  }
}

/** SAFETY: a runtime mounts on these. A link that an image or a snapshot has there would lead the mount to a place of its choice. */
function checkPlaces(root: string, mounts: StagedRoot['mounts']): Step[] {
  const places = [...mounts.map(({ target }) => target), GUEST_PATH, '/proc', '/dev']
  return places.map((path) => ({ kind: 'unlinked', root, path }))
}

/**
 * Shows the area on the stage, since the overlay's options can be read inside: they shall name the stage, not Hearth's home. What lies
 * on disk belongs to ids from 0 on, whoever's area it becomes after a fork; the mount shows it as the sandbox's own ids.
 */
function openArea(disk: DiskArea, idBase: number | null, stage: string): Step[] {
  const mapped = disk.kind === 'quota' && idBase !== null
  const upper = join(disk.path, 'upper')
  return [
    { kind: 'mkdir', path: upper, mode: 0o755 },
    { kind: 'mkdir', path: join(disk.path, 'work'), mode: 0o700 },
    // A tmpfs cannot be id-mapped by every kernel. Its files have the sandbox's ids, and a copy of it is shifted back.
    ...(mapped || idBase === null ? [] : [{ kind: 'chown', path: upper, uid: idBase, gid: idBase } as const]),
    { kind: 'bind', source: disk.path, target: stage, options: mapped ? ['idmap'] : [] },
  ]
}

/** The user namespace of a runtime that is executed inside it. */
export function enteredNamespace(idBase: number | null): LaunchPlan['userNamespace'] {
  return idBase === null
    ? { base: 0, count: 1, enter: false, rootless: true }
    : { base: idBase, count: IDS, enter: true, rootless: false }
}

async function lowerLayer(template: Template, paths: HostPaths): Promise<string> {
  return template.kind === 'host' ? await hostRoot(template, paths) : template.root
}
