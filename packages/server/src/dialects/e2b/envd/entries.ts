import { posix } from 'node:path'
import { HearthError, type FileInfo, type FileType, type Sandbox } from '@hearth/contract'
import type { Draft } from '../connect/messages.ts'
import type { FileMetadata } from './file-metadata.ts'
import type { Users } from './users.ts'

const MOST_LINKS = 40

const LETTERS: Readonly<Record<FileType, string>> = {
  file: '-',
  directory: 'd',
  symlink: 'L',
  fifo: 'p',
  socket: 'S',
  device: 'D',
}

/** What an entry is described with. */
export interface Describing {
  readonly users: Users
  readonly metadata: FileMetadata
}

/** A file as E2B describes it: a link has the type and the mode of what it leads to. */
export async function entryOf(
  sandbox: Sandbox,
  { users, metadata }: Describing,
  info: FileInfo,
): Promise<Draft<'EntryInfo'>> {
  const names = await users.names(sandbox)
  const followed = info.type === 'symlink' ? await follow(sandbox, info) : null
  const shown = followed?.info ?? info
  return {
    name: info.name,
    type: typeOf(shown.type),
    path: info.path,
    size: info.size,
    mode: shown.mode & 0o777,
    permissions: `${LETTERS[info.type]}${permissions(info.mode)}`,
    owner: names.users.get(info.uid) ?? String(info.uid),
    group: names.groups.get(info.gid) ?? String(info.gid),
    modifiedTime: info.modifiedAt,
    metadata: await metadata.find(sandbox, info),
    ...(followed === null ? {} : { symlinkTarget: followed.target }),
  }
}

export async function statEntry(sandbox: Sandbox, by: Describing, path: string): Promise<Draft<'EntryInfo'>> {
  return await entryOf(sandbox, by, await sandbox.files.stat(path, { followSymlinks: false }))
}

/** Where a link leads in the end, and what is there; null for nothing. */
async function follow(
  sandbox: Sandbox,
  link: FileInfo,
): Promise<{ readonly target: string; readonly info: FileInfo | null }> {
  let info = link
  for (let count = 0; count < MOST_LINKS && info.type === 'symlink'; count++) {
    const target = posix.resolve(posix.dirname(info.path), info.target ?? '')
    try {
      info = await sandbox.files.stat(target, { followSymlinks: false })
    } catch (error) {
      if (!HearthError.isInstance(error)) throw error
      return { target, info: null }
    }
  }
  return { target: info.path, info: info.type === 'symlink' ? null : info }
}

function typeOf(
  type: FileType,
): 'FILE_TYPE_FILE' | 'FILE_TYPE_DIRECTORY' | 'FILE_TYPE_SYMLINK' | 'FILE_TYPE_UNSPECIFIED' {
  if (type === 'file') return 'FILE_TYPE_FILE'
  if (type === 'directory') return 'FILE_TYPE_DIRECTORY'
  return type === 'symlink' ? 'FILE_TYPE_SYMLINK' : 'FILE_TYPE_UNSPECIFIED'
}

function permissions(mode: number): string {
  return [6, 3, 0]
    .map((shift) => ['r', 'w', 'x'].map((letter, bit) => ((mode >> shift) & (4 >> bit) ? letter : '-')))
    .flat()
    .join('')
}
