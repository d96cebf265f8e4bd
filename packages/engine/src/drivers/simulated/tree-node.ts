import type { VolumeDirectory } from './volume-directory.ts'

/** Errors that a file system call can have, named as POSIX names them. */
export const TREE_ERRORS = {
  ENOENT: 'no such file or directory',
  EEXIST: 'file already exists',
  ENOTDIR: 'not a directory',
  EISDIR: 'illegal operation on a directory',
  ENOTEMPTY: 'directory not empty',
  ELOOP: 'too many symbolic links',
  ENOSPC: 'no space left on device',
  EINVAL: 'invalid argument',
  EPERM: 'operation not permitted',
  ENAMETOOLONG: 'name too long',
  EROFS: 'read-only file system',
  EXDEV: 'cross-device link not permitted',
  EFBIG: 'file too large',
  EACCES: 'permission denied',
  EBUSY: 'resource busy or locked',
  EIO: 'i/o error',
} as const
export type TreeErrorCode = keyof typeof TREE_ERRORS

export function isTreeErrorCode(code: unknown): code is TreeErrorCode {
  return typeof code === 'string' && Object.hasOwn(TREE_ERRORS, code)
}

/** The message has the form that Node gives, because the commands of the shell look for the code in it. */
export class TreeError extends Error {
  readonly code: TreeErrorCode
  readonly path: string

  constructor(code: TreeErrorCode, operation: string, path: string) {
    super(`${code}: ${TREE_ERRORS[code]}, ${operation} '${path}'`)
    this.code = code
    this.path = path
  }
}

interface NodeBase {
  readonly id: number
  mode: number
  modifiedMs: number
}

export interface FileNode extends NodeBase {
  readonly kind: 'file'
  /** Room for content; the first `length` bytes are it. */
  buffer: Uint8Array
  length: number
  links: number
}

/** What a directory holds, to be looked at. */
export interface Entries extends Iterable<[string, TreeNode]> {
  readonly size: number
  get(name: string): TreeNode | undefined
  keys(): Iterable<string>
  values(): Iterable<TreeNode>
}

export interface MemoryDirectory extends NodeBase {
  readonly kind: 'directory'
  readonly volume: null
  readonly entries: Map<string, TreeNode>
}

/** A directory of a volume: what is in it lies on the host. */
export interface MountedDirectory extends Readonly<NodeBase> {
  readonly kind: 'directory'
  readonly volume: VolumeDirectory
  readonly entries: Entries
}

export type DirectoryNode = MemoryDirectory | MountedDirectory

export interface SymlinkNode extends NodeBase {
  readonly kind: 'symlink'
  readonly target: string
}

/** Swallows what is written to it and is always empty: /dev/null. */
export interface SinkNode extends NodeBase {
  readonly kind: 'sink'
}

export type TreeNode = FileNode | DirectoryNode | SymlinkNode | SinkNode

export interface TreeChange {
  readonly kind: 'created' | 'changed' | 'attributes' | 'removed' | 'renamed'
  readonly path: string
  readonly from: string | null
}

export interface TreeLimits {
  readonly bytes: number
  readonly entries: number
}

export function nodeSize(node: TreeNode): number {
  if (node.kind === 'file') return node.length
  return node.kind === 'symlink' ? Buffer.byteLength(node.target) : 0
}
