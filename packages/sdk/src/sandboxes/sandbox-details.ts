import type {
  IdleAction,
  SandboxId,
  SandboxInfo,
  SandboxState,
  SandboxView,
  SnapshotId,
  VolumeId,
} from '@hearth/contract'
import { HearthError } from '../hearth-error.ts'

/** All that the server tells of a sandbox. */
export interface SandboxDetails extends Omit<SandboxInfo, 'state' | 'expiresAt'> {
  readonly state: SandboxState
  /** Null for a persistent sandbox. */
  readonly expiresAt: Date | null
  /** After this long without a call it is paused, hibernated or killed; null for never. */
  readonly idleMs: number | null
  readonly idleAction: IdleAction | null
  /** While it is hibernated: whether its processes go on when it wakes, or why not. */
  readonly hibernation: { readonly memory: boolean; readonly reason: string | null } | null
  /** Of one that was made of a snapshot or forked: whether the processes that were captured go on in it, or why not. */
  readonly restored: { readonly memory: boolean; readonly reason: string | null } | null
  /** Why it ended or failed. */
  readonly reason: string | null
}

/** States in which nothing runs in a sandbox, and nothing will again. */
const ENDED: ReadonlySet<SandboxState> = new Set(['stopping', 'stopped', 'failed', 'deleting', 'deleted'])
/** The last date there is: a persistent sandbox has no deadline. */
const NEVER_MS = 8_640_000_000_000_000

export function sandboxDetails(view: SandboxView): SandboxDetails {
  if (!isView(view)) throw new HearthError('protocol_violation', 'the server answered something else than a sandbox')
  return {
    ...view,
    id: view.id as SandboxId,
    parent: view.parent as SandboxId | null,
    origin: (view.origin ?? null) as SnapshotId | null,
    hibernation: view.hibernation ?? null,
    restored: view.restored ?? null,
    volumes: (view.volumes ?? []).map((mount) => ({ ...mount, volume: mount.volume as VolumeId })),
    createdAt: new Date(view.createdAt),
    expiresAt: view.expiresAt === null ? null : new Date(view.expiresAt),
  }
}

/** The part that embedded sandboxes have too. */
export function sandboxInfo(details: SandboxDetails, ended: boolean): SandboxInfo {
  const { id, rung, driver, template, createdAt, expiresAt, parent, origin, metadata, limits, volumes, state } = details
  return {
    id,
    state: ended || ENDED.has(state) ? 'ended' : state === 'hibernated' ? 'hibernated' : 'running',
    rung,
    driver,
    template,
    createdAt,
    expiresAt: expiresAt ?? new Date(NEVER_MS),
    parent,
    origin,
    metadata,
    limits,
    volumes,
  }
}

/** The identifier becomes a part of paths, so that it is not taken on trust. */
function isView(view: unknown): boolean {
  if (typeof view !== 'object' || view === null || !('id' in view) || !('state' in view)) return false
  return typeof view.id === 'string' && /^[A-Za-z0-9_-]{1,128}$/.test(view.id) && typeof view.state === 'string'
}
