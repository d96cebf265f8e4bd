const HEAD_BYTES = 12
/** Times, device, owner, size, the name of the object and the flags; the path follows. */
const ENTRY_BYTES = 62
const FLAGS_AT = 60
const EXTENDED = 0x4000

/**
 * The paths that an index of git lists: what is tracked. SAFETY: the bytes come out of a sandbox, and git itself never reads them. What is no
 * index lists nothing, or names that no file has.
 */
export function pathsOfIndex(index: Buffer): string[] {
  if (index.length < HEAD_BYTES || index.toString('latin1', 0, 4) !== 'DIRC') return []
  const version = index.readUInt32BE(4)
  const count = index.readUInt32BE(8)
  if (version < 2 || version > 4) return []
  const paths: string[] = []
  let place = HEAD_BYTES
  let path: Buffer = Buffer.alloc(0)
  for (let entry = 0; entry < count; entry++) {
    if (place + ENTRY_BYTES > index.length) break
    const extended = version >= 3 && (index.readUInt16BE(place + FLAGS_AT) & EXTENDED) !== 0
    const name = nameAt(index, place + ENTRY_BYTES + (extended ? 2 : 0), version === 4 ? path : null)
    if (name === null) break
    path = name.path
    paths.push(path.toString('utf8'))
    // Up to version 3 an entry is filled up with 1 to 8 zeros.
    place = version === 4 ? name.end + 1 : place + Math.floor((name.end - place + 8) / 8) * 8
  }
  return paths
}

/** From version 4 on a path is what it shares with the one before it, and the rest. */
function nameAt(index: Buffer, from: number, before: Buffer | null): { path: Buffer; end: number } | null {
  const stripped = before === null ? { value: 0, next: from } : numberAt(index, from)
  if (stripped === null || (before !== null && stripped.value > before.length)) return null
  const end = index.indexOf(0, stripped.next)
  if (end === -1) return null
  const rest = index.subarray(stripped.next, end)
  const shared = before?.subarray(0, before.length - stripped.value) ?? Buffer.alloc(0)
  return { path: Buffer.concat([shared, rest]), end }
}

/** The number of bytes to strip, 7 bits in each byte, as git writes offsets. */
function numberAt(index: Buffer, from: number): { value: number; next: number } | null {
  let value = 0
  for (let next = from; next < index.length && next < from + 4; next++) {
    const byte = index[next] ?? 0
    value = value * 128 + (byte & 0x7f)
    if ((byte & 0x80) === 0) return { value, next: next + 1 }
    value += 1
  }
  return null
}
