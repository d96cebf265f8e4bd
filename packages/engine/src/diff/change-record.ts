/** What the guest program says of one path that differs. Paths and targets are bytes: a sandbox may use names that are no text. */
export interface ChangeRecord {
  readonly change: 'added' | 'changed' | 'removed'
  /** Of the new state; of the old one for what was removed. */
  readonly type: RecordType
  /** Null for what was added. */
  readonly before: RecordType | null
  readonly mode: number
  readonly uid: number
  readonly gid: number
  readonly size: number
  readonly modifiedNanoseconds: bigint
  /** When the kernel last changed anything about it. */
  readonly changedNanoseconds: bigint
  readonly inode: bigint
  /** Without a leading slash. One character a byte, so that equal strings are equal names. */
  readonly path: string
  /** Where a symlink points, one character a byte; empty for all else. */
  readonly target: string
}

export const RECORD_TYPES = ['file', 'directory', 'symlink', 'fifo', 'socket', 'device'] as const
export type RecordType = (typeof RECORD_TYPES)[number]

/** A path of records as people read it. Bytes that are no text become replacement characters. */
export function readablePath(path: string): string {
  return `/${Buffer.from(path, 'latin1').toString('utf8')}`
}

/** A path that a person gave, as records have it. */
export function recordPath(path: string): string {
  return Buffer.from(path, 'utf8').toString('latin1').split('/').filter(isName).join('/')
}

function isName(part: string): boolean {
  return part !== '' && part !== '.'
}

/** Whether a path is this one or lies below it. The empty path is the root. */
export function isAtOrBelow(path: string, ancestor: string): boolean {
  return ancestor === '' || path === ancestor || path.startsWith(`${ancestor}/`)
}
