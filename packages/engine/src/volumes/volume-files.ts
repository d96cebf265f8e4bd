import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { open, readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { HearthError, snapshotIdSchema, volumeIdSchema, type VolumeId } from '@hearth/contract'
import { z } from 'zod'
import type { HostPaths } from '../host/host.ts'

const MANIFEST = 'volume.json'
/** There once a sandbox had it: what lies in it may be hostile from then on. */
const SEEN = 'seen'

const manifestSchema = z.object({
  version: z.literal(1),
  id: volumeIdSchema,
  createdAt: z.coerce.date(),
  parent: volumeIdSchema.nullable(),
  diskBytes: z.int().min(0),
  /** How its files lie in the store. */
  form: z.enum(['subvolume', 'directory']),
  /** Made for a child of this fork, which is not complete before its snapshot is; null once that is known. */
  fork: snapshotIdSchema.nullable(),
})
/** What is written down about a volume. It is one once this is there. */
export type VolumeManifest = z.output<typeof manifestSchema>

export interface StoredVolume {
  readonly id: VolumeId
  readonly directory: string
  /** Where its files lie. SAFETY: whatever is in there may have been made by a guest. */
  readonly files: string
  readonly manifest: VolumeManifest
}

export function volumesDirectory(paths: Pick<HostPaths, 'store'>): string {
  return join(paths.store, 'volumes')
}

export function volumeDirectory(paths: Pick<HostPaths, 'store'>, id: VolumeId): string {
  return join(volumesDirectory(paths), id)
}

export function filesOf(directory: string): string {
  return join(directory, 'files')
}

/** Null when there is none, or when it is only being made or removed. */
export function readVolume(paths: Pick<HostPaths, 'store'>, id: VolumeId): StoredVolume | null {
  const directory = volumeDirectory(paths, id)
  let text: string
  try {
    text = readFileSync(join(directory, MANIFEST), 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  const manifest = parseManifest(text)
  if (manifest?.id !== id) throw new HearthError('internal', `the description of volume ${id} is damaged`)
  return { id, directory, files: filesOf(directory), manifest }
}

function parseManifest(text: string): VolumeManifest | null {
  try {
    return manifestSchema.safeParse(JSON.parse(text)).data ?? null
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}

/** It appears at once, and is there after a loss of power. */
export async function writeVolume(directory: string, manifest: VolumeManifest): Promise<void> {
  const draft = join(directory, `${MANIFEST}.new`)
  const file = await open(draft, 'w', 0o600)
  try {
    await file.writeFile(JSON.stringify(manifest))
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(draft, join(directory, MANIFEST))
}

/** The other way: it is none any more, but can be put back. */
export async function hideVolume(directory: string): Promise<{ putBack(): Promise<void> }> {
  const hidden = join(directory, `${MANIFEST}.gone`)
  await rename(join(directory, MANIFEST), hidden)
  return { putBack: () => rename(hidden, join(directory, MANIFEST)) }
}

export function wasSeen(directory: string): boolean {
  return existsSync(join(directory, SEEN))
}

export function markSeen(directory: string): void {
  writeFileSync(join(directory, SEEN), '', { mode: 0o600 })
}

/** Every directory that may be a volume, finished or not, in the order of their making. */
export async function volumeNames(paths: Pick<HostPaths, 'store'>): Promise<VolumeId[]> {
  const names = await readdir(volumesDirectory(paths)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  return names
    .toSorted((one, other) => (one < other ? -1 : 1))
    .flatMap((name) => volumeIdSchema.safeParse(name).data ?? [])
}
