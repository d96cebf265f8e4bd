import { type ErrorCode, HearthError } from '@hearth/contract'
import { TreeError, type TreeErrorCode } from './tree-node.ts'

const CODES: Readonly<Record<TreeErrorCode, ErrorCode>> = {
  ENOENT: 'file_not_found',
  EEXIST: 'file_exists',
  ENOTDIR: 'not_a_directory',
  EISDIR: 'is_a_directory',
  ENOTEMPTY: 'directory_not_empty',
  ELOOP: 'file_failed',
  ENOSPC: 'disk_full',
  EINVAL: 'file_failed',
  EPERM: 'permission_denied',
  ENAMETOOLONG: 'file_failed',
  EROFS: 'permission_denied',
  EXDEV: 'file_failed',
  EFBIG: 'file_failed',
  EACCES: 'permission_denied',
  EBUSY: 'file_failed',
  EIO: 'file_failed',
}

/** The error of the tree as the contract names it. */
export function asHearthError(error: unknown): unknown {
  if (!(error instanceof TreeError)) return error
  return new HearthError(CODES[error.code], error.message, {
    cause: error,
    context: { path: error.path, errno: error.code },
  })
}

/** Runs a call on the tree; its errors come out as the contract's. */
export function onTree<Value>(call: () => Value): Value {
  try {
    return call()
  } catch (error) {
    throw asHearthError(error)
  }
}
