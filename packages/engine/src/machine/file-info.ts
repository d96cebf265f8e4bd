import type { FileInfo, FileType } from '@hearth/contract'
import type { Messages } from '../link/messages.gen.ts'
import { exactNumber, WireError } from '../link/wire.ts'

const TYPES: readonly (FileType | undefined)[] = [undefined, 'file', 'directory', 'symlink', 'fifo', 'socket', 'device']
const PERMISSION_BITS = 0o7777
const NANOSECONDS_PER_MILLISECOND = 1_000_000n

/** What the guest says about a file, checked. Its path is text for the caller; the host never resolves it. */
export function fileInfo(entry: Messages['Entry']): FileInfo {
  const type = TYPES[entry.type]
  if (type === undefined) throw new WireError(`file type ${entry.type} does not exist`)
  return {
    path: entry.path,
    name: entry.path.slice(entry.path.lastIndexOf('/') + 1),
    type,
    size: exactNumber(entry.size, 'the size of a file'),
    mode: entry.mode & PERMISSION_BITS,
    uid: entry.uid,
    gid: entry.gid,
    // Times before 1970 come as the two's complement.
    modifiedAt: new Date(Number(BigInt.asIntN(64, entry.modifiedNanoseconds) / NANOSECONDS_PER_MILLISECOND)),
    target: type === 'symlink' ? entry.target : null,
  }
}
