import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { sandboxIdSchema, type SandboxId } from '@hearth/contract'
import type { HostPaths } from '../host/host.ts'
import { runStore } from './store-helper.ts'

/** Beyond its limit, while the root of a sandbox that wakes is made: btrfs sets aside a good part of this for each directory. */
export const WAKE_ROOM_BYTES = 1024 * 1024

/**
 * Simple quotas of btrfs count a block for the subvolume that wrote it, until nobody holds it any more. A sandbox gets a new subvolume with each wake,
 * so one that has slept has a group of quotas above all that it ever had, with its limit on it. One that never slept needs none.
 *
 * A note with the name of the sandbox is there before its group and goes after it, so that whoever comes after a crash finds it.
 */
export class SleepGroups {
  readonly #paths: Pick<HostPaths, 'store' | 'guest'>

  constructor(paths: Pick<HostPaths, 'store' | 'guest'>) {
    this.#paths = paths
  }

  /** Puts a subvolume of the sandbox into its group. */
  async join(id: SandboxId, path: string, limitBytes: number): Promise<void> {
    this.note(id)
    await runStore(this.#paths.guest, 'group-join', path, groupOf(id), String(limitBytes))
  }

  /** Written down for who makes the group. */
  note(id: SandboxId): void {
    mkdirSync(groupsDirectory(this.#paths), { recursive: true, mode: 0o700 })
    writeFileSync(this.#notePath(id), '', { mode: 0o600 })
  }

  /** Of a sandbox that is gone. What others hold of it counts for nobody from then on. */
  async remove(id: SandboxId): Promise<void> {
    if (!existsSync(this.#notePath(id))) return
    await runStore(this.#paths.guest, 'group-remove', this.#paths.store, groupOf(id))
    await rm(this.#notePath(id), { force: true })
  }

  #notePath(id: SandboxId): string {
    return join(groupsDirectory(this.#paths), id)
  }
}

/** Where a note lies for each group. */
export function groupsDirectory(paths: Pick<HostPaths, 'store'>): string {
  return join(paths.store, 'groups')
}

/** The number of the group of a sandbox: the 48 bits that a group has, never 0. Others on the same file system count from 1 or give none. */
export function groupOf(id: SandboxId): string {
  return String(createHash('sha256').update(id).digest().readUIntBE(0, 6) || 1)
}

/** The group of the sandbox whose area this is; 0, which stands for none, of anything else. */
export function groupOfArea(name: string): string {
  const id = sandboxIdSchema.safeParse(name).data
  return id === undefined ? '0' : groupOf(id)
}
