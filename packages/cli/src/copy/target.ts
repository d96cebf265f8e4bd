import { randomBytes } from 'node:crypto'
import { mkdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { HearthError, type RemoteSandbox } from '@hearth/sdk'
import { write } from '../output/write.ts'
import type { CopyProgress } from './copy-progress.ts'
import { onLocal } from './local-failure.ts'
import type { Source } from './source.ts'
import { unpackBelow } from './unpack.ts'
import { writeNewFile } from './write-new-file.ts'

/** The bytes of a file, or the archive of a directory. */
export async function toStandardOutput(source: Source, progress: CopyProgress): Promise<string> {
  const content = source.kind === 'file' ? source.content() : source.archive()
  for await (const chunk of content) {
    await write(process.stdout, chunk)
    progress.bytes(chunk.length)
  }
  return '-'
}

export async function toLocal(
  source: Source,
  path: string,
  mostBytes: number,
  progress: CopyProgress,
): Promise<string> {
  const isDirectory = await onLocal(path, async () => (await stat(path).catch(nullIfMissing))?.isDirectory() ?? null)
  const target = placeOf(source, path, isDirectory)
  return await onLocal(target, async () => {
    if (source.kind === 'file') {
      await replaceFile(resolve(target), source, mostBytes, progress)
      progress.entry(target)
    } else {
      await mkdir(target, { recursive: target === path && path.endsWith('/') }).catch(ignoreExisting)
      await unpackBelow(resolve(target), source.archive(), mostBytes, progress)
    }
    return target
  })
}

export async function toRemote(
  source: Source,
  sandbox: RemoteSandbox,
  path: string,
  progress: CopyProgress,
): Promise<string> {
  const isDirectory = await remoteIsDirectory(sandbox, path)
  if (source.kind === 'file' && source.name === null && (isDirectory === true || path.endsWith('/'))) {
    // What comes from standard input has no name: into a directory goes what an archive names.
    await sandbox.files.makeDirectory(path, { parents: true })
    await sandbox.files.extract(path, source.content())
    return path
  }
  const target = placeOf(source, path, isDirectory)
  if (source.kind === 'file') {
    await sandbox.files.write(target, source.content(), { mode: source.mode })
    progress.entry(target)
    return target
  }
  await sandbox.files.makeDirectory(target, { parents: true })
  await sandbox.files.extract(target, source.archive())
  return target
}

/** As cp(1): into a directory that is there under its own name, else as the target itself. `isDirectory` is null when nothing is there. */
function placeOf(source: Source, path: string, isDirectory: boolean | null): string {
  if (isDirectory === false && (source.kind === 'tree' || path.endsWith('/'))) {
    throw new HearthError('not_a_directory', `${path} is not a directory`)
  }
  const into = isDirectory === true || (source.kind === 'file' && path.endsWith('/'))
  if (!into || source.contentsOnly) return path
  if (source.name !== null) return join(path, source.name)
  if (source.kind === 'tree') return path
  throw new HearthError('is_a_directory', `${path} is a directory, and what is copied has no name`, {
    suggestion: 'Name the file.',
  })
}

async function remoteIsDirectory(sandbox: RemoteSandbox, path: string): Promise<boolean | null> {
  try {
    return (await sandbox.files.stat(path)).type === 'directory'
  } catch (error) {
    if (HearthError.isInstance(error) && error.code === 'file_not_found') return null
    throw error
  }
}

/** A copy that breaks off leaves the old file, and what is a link there is replaced and not followed. */
async function replaceFile(
  path: string,
  source: Source & { kind: 'file' },
  mostBytes: number,
  progress: CopyProgress,
): Promise<void> {
  if (path.endsWith('/') === false) await mkdir(dirname(path), { recursive: true })
  const temporary = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}`)
  try {
    await writeNewFile(temporary, bounded(source.content(), mostBytes), source, progress)
    await rename(temporary, path)
  } finally {
    await rm(temporary, { force: true })
  }
}

async function* bounded(content: AsyncIterable<Uint8Array>, mostBytes: number): AsyncGenerator<Uint8Array, void> {
  let total = 0
  for await (const chunk of content) {
    total += chunk.length
    if (total > mostBytes) {
      throw new HearthError('file_failed', `the file has more than ${mostBytes} bytes`, {
        suggestion: '`--max-size` allows more.',
      })
    }
    yield chunk
  }
}

function nullIfMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null
  throw error
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error
}
