import { HearthError } from '@hearth/sdk'

const CODES = {
  ENOENT: ['file_not_found', 'there is no such file'],
  EACCES: ['permission_denied', 'permission denied'],
  EPERM: ['permission_denied', 'permission denied'],
  EEXIST: ['file_exists', 'it is there already'],
  ENOTDIR: ['not_a_directory', 'a part of the path is not a directory'],
  EISDIR: ['is_a_directory', 'it is a directory'],
  ENOSPC: ['disk_full', 'the disk is full'],
} as const

/** What went wrong with a file of this machine, in the words that are used for those of a sandbox. */
export function localFailure(error: unknown, path: string): unknown {
  if (HearthError.isInstance(error) || !(error instanceof Error) || !('code' in error)) return error
  const known = Object.hasOwn(CODES, String(error.code)) ? CODES[error.code as keyof typeof CODES] : null
  const [code, text] = known ?? ['file_failed', error.message]
  return new HearthError(code, `${path}: ${text}`, { cause: error, suggestion: 'Check the path on this machine.' })
}

/** Does something with a file of this machine. */
export async function onLocal<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw localFailure(error, path)
  }
}
