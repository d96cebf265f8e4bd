const DIRECTORY = 0o040_000
const REGULAR = 0o100_000
const CHARACTER_DEVICE = 0o020_000

/** One entry of an initial root file system. Parents come before what is in them. */
export type CpioEntry =
  | { readonly kind: 'directory'; readonly path: string; readonly mode: number }
  | { readonly kind: 'file'; readonly path: string; readonly mode: number; readonly content: Uint8Array }
  | {
      readonly kind: 'device'
      readonly path: string
      readonly mode: number
      readonly major: number
      readonly minor: number
    }

/** An archive in the `newc` form, as the kernel unpacks it. Everything belongs to root; the bytes depend on the entries alone. */
export function writeCpio(entries: readonly CpioEntry[]): Buffer {
  const parts = entries.flatMap((entry, index) => record(index + 1, entry))
  parts.push(...record(0, { kind: 'file', path: 'TRAILER!!!', mode: 0, content: new Uint8Array() }))
  return Buffer.concat(parts)
}

function record(inode: number, entry: CpioEntry): Uint8Array[] {
  const content = entry.kind === 'file' ? entry.content : new Uint8Array()
  const [major, minor] = entry.kind === 'device' ? [entry.major, entry.minor] : [0, 0]
  const name = Buffer.from(`${entry.path}\0`)
  const type = { directory: DIRECTORY, file: REGULAR, device: CHARACTER_DEVICE }[entry.kind]
  const links = entry.kind === 'directory' ? 2 : 1
  const fields = [inode, type | entry.mode, 0, 0, links, 0, content.length, 0, 0, major, minor, name.length, 0]
  const header = Buffer.from(`070701${fields.map((field) => field.toString(16).padStart(8, '0')).join('')}`)
  return [header, name, padding(header.length + name.length), content, padding(content.length)]
}

function padding(length: number): Buffer {
  return Buffer.alloc((4 - (length % 4)) % 4)
}
