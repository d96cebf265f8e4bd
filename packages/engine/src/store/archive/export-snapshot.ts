import { createHash } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { newSnapshotId } from '@hearth/contract'
import type { HostPaths } from '../../host/host.ts'
import { TAR_END, tarHeader, tarPadding } from '../../templates/tar/tar-writer.ts'
import { layersOf } from '../layers.ts'
import type { StoredSnapshot } from '../snapshot-manifest.ts'
import type { SnapshotStore } from '../snapshot-store.ts'
import { runStore } from '../store-helper.ts'
import { encodeEntry } from './archive-entry.ts'
import {
  CHECKSUMS_ENTRY,
  DISK_PREFIX,
  FORMAT,
  MANIFEST_ENTRY,
  MAXIMUM_ID,
  MEMORY_PREFIX,
  VERSION,
} from './archive-format.ts'
import { ChecksumChain, sumOf, sumUp } from './checksum-chain.ts'
import { packTree } from './tree-process.ts'
import type { TreeRecord } from './tree-record.ts'

/** A snapshot as the bytes of one file, which holds all that it needs but its template. */
export async function* exportSnapshot(
  snapshot: StoredSnapshot,
  store: SnapshotStore,
  paths: HostPaths,
): AsyncGenerator<Uint8Array, void> {
  const manifest = JSON.stringify({ format: FORMAT, version: VERSION, manifest: snapshot.manifest })
  yield* textEntry(MANIFEST_ENTRY, manifest)
  await using disk = await wholeDisk(snapshot, store, paths)
  const chain = new ChecksumChain()
  yield* tree(paths.guest, disk.path, DISK_PREFIX, (record, sum) => chain.add(record, sum))
  const memory: Record<string, string> = {}
  if (snapshot.manifest.memory !== null) {
    const directory = join(snapshot.directory, 'memory')
    yield* tree(paths.guest, directory, MEMORY_PREFIX, (record, sum) => {
      memory[record.path.toString('latin1')] = sum
    })
  }
  const checksums = sumUp({ manifest: sumOf(manifest), disk: chain.digest(), memory })
  yield* textEntry(CHECKSUMS_ENTRY, JSON.stringify(checksums))
  yield TAR_END
}

/** The disk of a machine belongs to ids that it alone has on this host, and gets others when it is used again. Files of sandboxes have ids from 0. */
function ownedInside(record: TreeRecord): TreeRecord {
  const own = (id: number): number => (id > MAXIMUM_ID ? 0 : id)
  return { ...record, uid: own(record.uid), gid: own(record.gid) }
}

type Sum = (record: Parameters<ChecksumChain['add']>[0], content: string) => void

async function* tree(guest: string, directory: string, prefix: string, sum: Sum): AsyncGenerator<Uint8Array, void> {
  for await (const { record: found, bytes } of packTree(guest, directory)) {
    const record = ownedInside(found)
    const { head, contentBytes } = encodeEntry(prefix, record)
    yield head
    const hash = createHash('sha256')
    for await (const part of bytes) {
      hash.update(part)
      // A copy: the reader may use its buffer again before the consumer has written it.
      yield Buffer.from(part)
    }
    yield tarPadding(contentBytes)
    sum(record, hash.digest('hex'))
  }
}

function* textEntry(path: string, text: string): Generator<Uint8Array, void> {
  const content = Buffer.from(text)
  const rest = { type: 'file', target: '', mode: 0o644, uid: 0, gid: 0, modifiedMs: Date.now() } as const
  yield tarHeader({ path, ...rest, size: content.length })
  yield content
  yield tarPadding(content.length)
}

/** Where the whole disk lies: a snapshot on top of others is laid together with them first. */
async function wholeDisk(
  snapshot: StoredSnapshot,
  store: SnapshotStore,
  paths: HostPaths,
): Promise<AsyncDisposable & { readonly path: string }> {
  const { disk } = snapshot.manifest
  if (disk.kind !== 'layer' || disk.layers.length === 0) {
    return { path: join(snapshot.directory, 'disk'), [Symbol.asyncDispose]: async () => undefined }
  }
  const id = newSnapshotId()
  const { directory } = await store.draft(id)
  const path = join(directory, 'disk')
  const discard = (): Promise<void> => store.discard(id)
  try {
    await mkdir(join(path, 'upper'), { recursive: true })
    for (const layer of layersOf(snapshot, paths).toReversed()) {
      await runStore(paths.guest, 'copy', '0', layer, join(path, 'upper'), '0')
    }
    return { path, [Symbol.asyncDispose]: discard }
  } catch (error) {
    await discard()
    throw error
  }
}
