/** One file or link of a tree, with the number of its content in the import. */
export interface TreeEntry {
  readonly path: string
  readonly mode: FileMode
  readonly mark: number
}

export type FileMode = '100644' | '100755' | '120000'

/** A commit that `git fast-import` makes. It has no branch afterwards: its identifier is written to standard output. */
export interface ImportedCommit {
  /** Unique while it lasts, since several may be made at once. */
  readonly branch: string
  /** What the entries are changes of; null for exactly the entries. */
  readonly base: string | null
  readonly removed?: Iterable<string>
  readonly entries: Iterable<TreeEntry>
}

const NEWLINE = Buffer.from('\n')
/** Beyond the numbers of all contents. */
const COMMIT_MARK = 1_000_000_000

/** Comes before so many bytes of content, and `blobEnd` after them. */
export function blobHead(mark: number, size: number): Buffer {
  return Buffer.from(`blob\nmark :${mark}\ndata ${size}\n`)
}

export function blobEnd(): Buffer {
  return NEWLINE
}

export function wholeBlob(mark: number, content: Uint8Array): Buffer {
  return Buffer.concat([blobHead(mark, content.length), content, NEWLINE])
}

/** The same entries on the same base give the same commit at any time. */
export function commitCommands({ branch, base, removed = [], entries }: ImportedCommit): Buffer {
  const head = `commit refs/heads/${branch}\nmark :${COMMIT_MARK}\ncommitter Hearth <agent@hearth.invalid> 0 +0000\ndata 4\ntree\n`
  const from = base === null ? 'deleteall\n' : `from ${base}\n`
  // What goes makes room for what comes: a file may become a directory.
  const gone = Array.from(removed, (path) => `D ${quote(path)}\n`)
  const present = Array.from(entries, ({ mode, mark, path }) => `M ${mode} :${mark} ${quote(path)}\n`)
  const end = `\nget-mark :${COMMIT_MARK}\nreset refs/heads/${branch}\nfrom ${'0'.repeat(40)}\n\ndone\n`
  return Buffer.from([head, from, ...gone, ...present, end].join(''))
}

function quote(path: string): string {
  // eslint-disable-next-line no-control-regex
  return `"${path.replace(/["\\\x01-\x1f]/g, (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`)}"`
}

/** Relative, without anything that leads elsewhere; null for what a tree cannot have, such as `.git` itself. */
export function treePath(name: string): string | null {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.')
  if (parts.length === 0 || name.includes('\0')) return null
  return parts.some((part) => part === '..' || /^\.git$/i.test(part)) ? null : parts.join('/')
}
