import { HearthError } from '@hearth/contract'
import type { PresentState } from '../diff/root-state.ts'
import type { Link } from '../link/link.ts'
import { upload } from '../link/upload.ts'
import { downloadStream } from './file-download.ts'
import { fileInfo } from './file-info.ts'
import type { ChangeQuestion } from './machine-changes.ts'

const FLAGS = { chosen: 1, content: 2, whole: 4 } as const

/** All of it is there when the guest begins, and it takes as long as its files need. */
const APPLY_MS = 600_000

/** Asks a guest that has the disk of changes itself. */
export function listChanges(link: Link, question: ChangeQuestion, signal?: AbortSignal): AsyncIterable<Uint8Array> {
  const { paths, whole, contentBytes, limits } = question
  const message = {
    flags:
      (paths === null ? 0 : FLAGS.chosen) | (contentBytes === null ? 0 : FLAGS.content) | (whole ? FLAGS.whole : 0),
    changes: BigInt(limits.changes),
    entries: BigInt(limits.entries),
    compareFileBytes: BigInt(limits.compareFileBytes),
    compareBytes: BigInt(limits.compareBytes),
    contentFileBytes: BigInt(contentBytes ?? 0),
    contentBytes: BigInt(limits.contentBytes),
    paths: Buffer.from((paths ?? []).map((path) => `=${path}\0`).join(''), 'latin1'),
  }
  return downloadStream(link, { name: 'ListChanges', message }, signal)
}

/** Brings operations of a merge into the machine's root. */
export async function applyChanges(
  link: Link,
  operations: AsyncIterable<Uint8Array>,
  signal?: AbortSignal,
): Promise<void> {
  await upload(link, 'ApplyChanges', { path: '/' }, operations, () => undefined, { timeoutMs: APPLY_MS, signal })
}

const NO_FOLLOW = 1

export async function statInside(link: Link, path: string): Promise<PresentState | null> {
  try {
    return await link.ask('Stat', { path, flags: NO_FOLLOW }, (entry) => {
      const { type, size } = fileInfo(entry)
      return { type, size, modifiedNanoseconds: BigInt.asIntN(64, entry.modifiedNanoseconds) }
    })
  } catch (error) {
    if (HearthError.isInstance(error) && (error.code === 'file_not_found' || error.code === 'not_a_directory'))
      return null
    throw error
  }
}
