import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { SandboxInfo } from '@hearth/contract'
import type { CapturedVolume } from '../store/snapshot-manifest.ts'
import { runStore } from '../store/store-helper.ts'
import type { StoredVolume } from './volume-files.ts'

/** What a capture does about the volumes of a sandbox. */
export interface VolumeCapture {
  /** As the manifest names them. */
  readonly volumes: readonly CapturedVolume[]
  /** Copies those that the manifest says so of into the directory of the snapshot. Called while nobody writes to them. */
  copy(directory: string): Promise<void>
}

/** Where a snapshot has the copy of a volume; `index` is that of its entry in the manifest. */
export function capturedFiles(directory: string, index: number): string {
  return join(directory, 'volumes', String(index))
}

/** Names the volumes of a sandbox and copies none: they are no part of a snapshot. */
export function nameVolumes({ volumes }: Pick<SandboxInfo, 'volumes'>): VolumeCapture {
  return { volumes: volumes.map(({ path, readOnly }) => ({ path, readOnly, copy: null })), copy: async () => undefined }
}

/** Copies those that the sandbox may write to, for its children to be made of and to be compared with. */
export function copyVolumes(
  guest: string,
  { volumes }: Pick<SandboxInfo, 'volumes'>,
  find: (mount: SandboxInfo['volumes'][number]) => StoredVolume,
): VolumeCapture {
  const found = volumes.map((mount) => ({ ...mount, stored: mount.readOnly ? null : find(mount) }))
  return {
    volumes: found.map(({ path, readOnly, stored }) => ({ path, readOnly, copy: stored?.manifest.form ?? null })),
    copy: async (directory) => {
      mkdirSync(join(directory, 'volumes'), { mode: 0o700 })
      await Promise.all(
        found.map(async ({ stored }, index) => {
          if (stored !== null) await copyStill(guest, stored, capturedFiles(directory, index))
        }),
      )
    },
  }
}

/** A copy that nobody changes. */
export async function copyStill(guest: string, { files, manifest }: StoredVolume, target: string): Promise<void> {
  if (manifest.form === 'subvolume') {
    await runStore(guest, 'snapshot', files, target, 'ro')
    return
  }
  mkdirSync(target, { mode: 0o700 })
  await runStore(guest, 'copy', '0', files, target, '0')
}
