/** One entry of an archive that no honest program would make. */
export interface TarEntry {
  readonly name: string
  /** `0` file, `1` hard link, `2` symlink, `3` character device, `5` directory, `6` fifo. */
  readonly type: string
  readonly link?: string
  readonly content?: string
  readonly size?: number
}

const BLOCK = 512

/** A ustar archive of exactly these entries, without any check. */
export function tarOf(entries: readonly TarEntry[]): Buffer {
  return Buffer.concat([...entries.map(entryBytes), Buffer.alloc(2 * BLOCK)])
}

function entryBytes(entry: TarEntry): Buffer {
  const content = Buffer.from(entry.content ?? '')
  const padding = Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK)
  return Buffer.concat([header(entry, content.length), content, padding])
}

function header(entry: TarEntry, contentBytes: number): Buffer {
  const bytes = Buffer.alloc(BLOCK)
  const octal = (value: number, offset: number, width: number): void => {
    bytes.write(`${value.toString(8).padStart(width - 1, '0')}\0`, offset)
  }
  bytes.write(entry.name, 0, 100)
  octal(0o644, 100, 8)
  octal(0, 108, 8)
  octal(0, 116, 8)
  octal(entry.size ?? contentBytes, 124, 12)
  octal(1_700_000_000, 136, 12)
  bytes.write(' '.repeat(8), 148)
  bytes.write(entry.type, 156)
  bytes.write(entry.link ?? '', 157, 100)
  bytes.write('ustar\x0000', 257, 'latin1')
  octal(1, 329, 8)
  octal(3, 337, 8)
  const sum = bytes.reduce((total, byte) => total + byte, 0)
  bytes.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return bytes
}
