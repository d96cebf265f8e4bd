import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { HearthError, type RemoteSandbox } from '@hearth/sdk'
import type { CopyProgress } from './copy-progress.ts'
import { onLocal } from './local-failure.ts'
import { packDirectory } from './pack.ts'

/** What is copied: one file, or what a directory holds as an archive. */
export type Source = {
  /** For a target that is a directory; null where there is none, as for standard input. */
  readonly name: string | null
  /** True for `DIRECTORY/.`: what it holds, not itself. */
  readonly contentsOnly: boolean
} & (
  | {
      readonly kind: 'file'
      readonly mode: number
      readonly modifiedMs: number
      readonly content: () => AsyncIterable<Uint8Array>
    }
  | { readonly kind: 'tree'; readonly archive: () => AsyncIterable<Uint8Array> }
)

export function standardInput(): Source {
  const content = (): AsyncIterable<Uint8Array> => process.stdin
  return { kind: 'file', name: null, contentsOnly: false, mode: 0o644, modifiedMs: Date.now(), content }
}

/** A link that is named itself is followed. */
export async function localSource(path: string, progress: CopyProgress): Promise<Source> {
  const status = await onLocal(path, async () => await stat(path))
  const common = nameOf(path)
  if (status.isDirectory()) return { kind: 'tree', ...common, archive: () => packDirectory(path, progress) }
  if (!status.isFile()) throw new HearthError('file_failed', `${path} is neither a file nor a directory`)
  const content = (): AsyncIterable<Uint8Array> => counted(createReadStream(path), progress)
  return { kind: 'file', ...common, mode: status.mode & 0o777, modifiedMs: status.mtimeMs, content }
}

export async function remoteSource(sandbox: RemoteSandbox, path: string): Promise<Source> {
  const info = await sandbox.files.stat(path)
  const common = nameOf(path)
  if (info.type === 'directory') return { kind: 'tree', ...common, archive: () => sandbox.files.archive(path) }
  // Asking a pipe or a device for its content could wait for ever.
  if (info.type !== 'file') throw new HearthError('file_failed', `${path} is a ${info.type}`)
  const content = (): AsyncIterable<Uint8Array> => sandbox.files.readStream(path)
  return { kind: 'file', ...common, mode: info.mode & 0o777, modifiedMs: info.modifiedAt.getTime(), content }
}

function nameOf(path: string): { name: string | null; contentsOnly: boolean } {
  const name = basename(path)
  const usable = !['', '.', '..', '/'].includes(name)
  return { name: usable ? name : null, contentsOnly: name === '.' }
}

async function* counted(content: AsyncIterable<Uint8Array>, progress: CopyProgress): AsyncGenerator<Uint8Array, void> {
  for await (const chunk of content) {
    progress.bytes(chunk.length)
    yield chunk
  }
}
