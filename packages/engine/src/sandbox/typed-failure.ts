import { HearthError } from '@hearth/contract'

/** What making a sandbox fails with is always typed: that it was abandoned, or what the file system of the home said. */
export function typedFailure(error: unknown, signal: AbortSignal | undefined): HearthError {
  if (HearthError.isInstance(error)) return error
  if (signal?.aborted === true) return new HearthError('aborted', 'the caller gave up', { cause: error })
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new HearthError('disk_full', `the disk of Hearth's home is full: ${message}`, {
      cause: error,
      suggestion: 'Free space where HEARTH_HOME lies.',
    })
  }
  return new HearthError('launch_failed', message, { cause: error })
}
