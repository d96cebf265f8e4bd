import { execFile } from 'node:child_process'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { SandboxId } from '@hearth/contract'
import type { DiskArea } from '../drivers/link-runtime.ts'
import type { HostFacts } from '../host/facts.ts'
import type { HostPaths } from '../host/host.ts'
import { openStore } from './loop-store.ts'

const execute = promisify(execFile)

/** Hands out the writable bytes of sandboxes, with the strongest limit that this host can keep. */
export class DiskAreas {
  readonly #paths: HostPaths
  readonly #facts: HostFacts
  #kind: Promise<'quota' | 'memory'> | null = null

  constructor(paths: HostPaths, facts: HostFacts) {
    this.#paths = paths
    this.#facts = facts
  }

  kind(): Promise<'quota' | 'memory'> {
    this.#kind ??= this.#findKind()
    return this.#kind
  }

  async #findKind(): Promise<'quota' | 'memory'> {
    if (!this.#facts.root || (await openStore(this.#paths)).kind !== 'btrfs') return 'memory'
    await mkdir(join(this.#paths.store, 'areas'), { recursive: true, mode: 0o711 })
    return 'quota'
  }

  async area(id: SandboxId, directory: string, limitBytes: number): Promise<DiskArea> {
    if ((await this.kind()) === 'quota') {
      const path = join(this.#paths.store, 'areas', id)
      return { path, kind: 'quota', steps: [{ kind: 'subvolume', path, limitBytes }] }
    }
    // Seen only inside the keeper's mount namespace: it vanishes with the sandbox.
    const path = join(directory, 'disk')
    await mkdir(path, { mode: 0o711 })
    return { path, kind: 'memory', steps: [{ kind: 'tmpfs', target: path, data: `size=${limitBytes},mode=0711` }] }
  }

  /** Bytes that the sandbox holds of its limit; null where only the guest can tell. */
  async usedBytes(area: Pick<DiskArea, 'path' | 'kind'>): Promise<number | null> {
    if (area.kind !== 'quota') return null
    const { stdout } = await execute(this.#paths.guest, ['store', 'usage', area.path])
    return Number(stdout)
  }

  async remove(area: Pick<DiskArea, 'path' | 'kind'>): Promise<void> {
    if (area.kind !== 'quota') return
    // A subvolume is deleted in constant time; what is not one (a crash before the step) is removed as a directory.
    await execute(this.#paths.guest, ['store', 'subvolume-delete', area.path]).catch(() =>
      rm(area.path, { recursive: true, force: true }),
    )
  }
}
