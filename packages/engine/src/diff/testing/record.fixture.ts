import type { ChangeRecord } from '../change-record.ts'

type Named = Pick<ChangeRecord, 'change' | 'type' | 'path'>

/** A record of which only what is named matters. What was there before, if anything, was a file. */
export function recordOf(named: Named & Partial<ChangeRecord>): ChangeRecord {
  return {
    before: named.change === 'added' ? null : 'file',
    mode: 0o644,
    uid: 0,
    gid: 0,
    size: 1,
    modifiedNanoseconds: 0n,
    changedNanoseconds: 0n,
    inode: 1n,
    target: '',
    ...named,
  }
}
