import { mkdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { HearthError, newSnapshotId, type SnapshotId } from '@hearth/contract'
import type { HostPaths } from '../../host/host.ts'
import { TarError } from '../../templates/tar/tar-header.ts'
import { readTar } from '../../templates/tar/tar-reader.ts'
import { openStore } from '../disk-store.ts'
import type { SnapshotManifest, StoredSnapshot } from '../snapshot-manifest.ts'
import type { SnapshotStore } from '../snapshot-store.ts'
import { runStore, typedStoreError } from '../store-helper.ts'
import { ARCHIVE_LIMITS, corrupt, PATH_BYTES, type ArchiveLimits } from './archive-format.ts'
import { ArchiveReader } from './archive-reader.ts'

export interface ImportOptions {
  readonly name?: string | null
  /** Default: a new one. It must never have been used before. */
  readonly id?: SnapshotId
  /** `none`: its files alone. Memory is given to runsc and QEMU as it is, so that only who trusts its maker takes it. Default `auto`: what it holds. */
  readonly memory?: 'auto' | 'none'
  readonly limits?: Partial<ArchiveLimits>
  readonly signal?: AbortSignal
}

/**
 * Takes a snapshot in that another host wrote. It is made in a draft, out of sight, and becomes a snapshot when all of it is there and every
 * checksum is right; else nothing stays. It gets an identifier of its own.
 */
export async function importSnapshot(
  source: AsyncIterable<Uint8Array>,
  store: SnapshotStore,
  paths: HostPaths,
  options: ImportOptions = {},
): Promise<StoredSnapshot> {
  const id = options.id ?? newSnapshotId()
  const { directory } = await store.draft(id)
  try {
    const manifest = await unpack(source, directory, paths, options)
    return await store.commit(id, own(manifest, id, options.name ?? null))
  } catch (error) {
    await store.discard(id)
    throw typed(error)
  }
}

async function unpack(
  source: AsyncIterable<Uint8Array>,
  directory: string,
  paths: HostPaths,
  { limits: wanted, memory = 'auto', signal }: ImportOptions,
): Promise<SnapshotManifest> {
  const limits = { ...ARCHIVE_LIMITS, ...wanted }
  const btrfs = process.getuid?.() === 0 && (await openStore(paths)).kind === 'btrfs'
  const fresh = join(directory, 'disk.new')
  if (btrfs) await runStore(paths.guest, 'subvolume-create', fresh)
  else await mkdir(fresh, { mode: 0o700 })
  await using reader = new ArchiveReader(paths.guest, directory, fresh, limits, memory !== 'none')
  const bounds = { entries: 4 * limits.entries, totalBytes: limits.totalBytes, pathBytes: PATH_BYTES }
  for await (const entry of readTar(source, bounds, { records: true })) {
    signal?.throwIfAborted()
    await reader.take(entry)
  }
  const manifest = await reader.finish()
  const disk = join(directory, 'disk')
  if (!btrfs || manifest.disk.kind === 'tree') {
    await rename(fresh, disk)
    return manifest.disk.kind === 'tree' ? manifest : { ...manifest, disk: { kind: 'layer', layers: [] } }
  }
  await runStore(paths.guest, 'snapshot', fresh, disk, 'ro')
  await runStore(paths.guest, 'remove', fresh)
  return { ...manifest, disk: { kind: 'subvolume' } }
}

/** Here it has no parent, and no name but the one that it is given. */
function own(manifest: SnapshotManifest, id: SnapshotId, name: string | null): SnapshotManifest {
  return { ...manifest, kind: 'snapshot', info: { ...manifest.info, id, name, parent: null } }
}

function typed(error: unknown): unknown {
  if (HearthError.isInstance(error)) return error
  return error instanceof TarError ? corrupt(error.message, {}, error) : typedStoreError(error)
}
