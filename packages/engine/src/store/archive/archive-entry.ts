import { isUtf8 } from 'node:buffer'
import type { TarHeader } from '../../templates/tar/tar-header.ts'
import { tarHeader } from '../../templates/tar/tar-writer.ts'
import { segmentBytes, type TreeRecord } from './tree-record.ts'

const BLOCK = 512

/** Header of an entry in the archive, and for a file with holes the map of what is not one, before its bytes. */
export function encodeEntry(prefix: string, record: TreeRecord): { head: Buffer; contentBytes: number } {
  const path = Buffer.concat([Buffer.from(prefix), record.path])
  const map = isSparse(record) ? sparseMap(record) : Buffer.alloc(0)
  const contentBytes = map.length + segmentBytes(record.segments)
  const name = nameOf(path)
  const target = record.type === 'hardlink' ? Buffer.concat([Buffer.from(prefix), record.target]) : record.target
  const header: TarHeader = {
    path: isSparse(record) ? `${prefix}GNUSparseFile.0/${name.slice(-60)}` : name,
    type: record.type === 'whiteout' ? 'device' : record.type,
    target: nameOf(target),
    mode: record.mode,
    uid: record.uid,
    gid: record.gid,
    size: contentBytes,
    modifiedMs: record.seconds * 1000,
  }
  const records = {
    mtime: `${record.seconds}.${String(record.nanoseconds).padStart(9, '0')}`,
    ...(isPlain(path) ? {} : { 'HEARTH.path': path }),
    ...(isPlain(target) ? {} : { 'HEARTH.target': target }),
    ...(record.opaque ? { 'HEARTH.opaque': 'y' } : {}),
    ...(isSparse(record) ? sparseRecords(name, record.size) : {}),
    ...Object.fromEntries(record.attributes.map(({ name: key, value }) => [`SCHILY.xattr.${key}`, value])),
  }
  return { head: Buffer.concat([tarHeader(header, records), map]), contentBytes }
}

function isSparse({ size, segments }: TreeRecord): boolean {
  const [first] = segments
  return size > 0 && !(segments.length === 1 && first?.offset === 0 && first.length === size)
}

function sparseRecords(name: string, size: number): Record<string, string> {
  return {
    'GNU.sparse.major': '1',
    'GNU.sparse.minor': '0',
    'GNU.sparse.name': name,
    'GNU.sparse.realsize': String(size),
  }
}

/** Version 1.0 of GNU tar's: numbers as lines, up to the next block. */
function sparseMap({ segments }: TreeRecord): Buffer {
  const numbers = [segments.length, ...segments.flatMap(({ offset, length }) => [offset, length])]
  const text = Buffer.from(numbers.map((number) => `${number}\n`).join(''))
  return Buffer.concat([text, Buffer.alloc((BLOCK - (text.length % BLOCK)) % BLOCK)])
}

/** The reader gives such a name back as it was. */
function isPlain(name: Buffer): boolean {
  return isUtf8(name) && !name.includes('�')
}

function nameOf(name: Buffer): string {
  return isPlain(name) ? name.toString('utf8') : name.toString('latin1')
}
