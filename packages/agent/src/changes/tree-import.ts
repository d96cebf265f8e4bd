import { readTar, TarError, type TarEntry } from '@hearth/engine/tar'
import { HearthError } from '@hearth/contract'

/** One file or link of a tree, with the number of its content in the import. */
export interface TreeEntry {
  readonly path: string
  readonly mode: '100644' | '100755' | '120000'
  readonly mark: number
}

export interface TreeLimits {
  readonly entries: number
  readonly bytes: number
}

const PATH_BYTES = 4096
/** Files with rules about what is ignored are needed again. */
const RULE_BYTES = 256 * 1024
const RULE_FILES = 1000

/** What an archive holds, as blobs for `git fast-import`; afterwards `entries` says where each belongs. */
export class TreeImport {
  readonly entries = new Map<string, TreeEntry>()
  /** The `.gitignore` files, by path. */
  readonly ignoreRules = new Map<string, Buffer>()
  #mark = 0

  /**
   * SAFETY: the archive comes out of a sandbox. Nothing of it is written under its own name on the host: contents become git objects,
   * names become entries of a tree, and those that git could take for its own are left out.
   */
  async *blobs(archive: AsyncIterable<Uint8Array>, limits: TreeLimits): AsyncGenerator<Uint8Array, void> {
    const tarLimits = { entries: limits.entries, totalBytes: limits.bytes, pathBytes: PATH_BYTES }
    try {
      for await (const entry of readTar(archive, tarLimits)) {
        const path = safePath(entry.header.path)
        if (path !== null) yield* this.#blob(path, entry)
      }
    } catch (error) {
      if (!(error instanceof TarError)) throw error
      throw new HearthError('file_failed', `the working directory cannot be read: ${error.message}`, { cause: error })
    }
  }

  async *#blob(path: string, entry: TarEntry): AsyncGenerator<Uint8Array, void> {
    const { header } = entry
    if (header.type === 'hardlink') {
      const target = safePath(header.target)
      const other = target === null ? undefined : this.entries.get(target)
      if (other !== undefined) this.entries.set(path, { ...other, path })
      return
    }
    if (header.type === 'symlink') {
      const mark = ++this.#mark
      const target = Buffer.from(header.target)
      yield Buffer.concat([Buffer.from(`blob\nmark :${mark}\ndata ${target.length}\n`), target, NEWLINE])
      this.entries.set(path, { path, mode: '120000', mark })
      return
    }
    if (header.type !== 'file') return
    const mark = ++this.#mark
    this.entries.set(path, { path, mode: (header.mode & 0o100) === 0 ? '100644' : '100755', mark })
    yield Buffer.from(`blob\nmark :${mark}\ndata ${header.size}\n`)
    const isRules = (path === '.gitignore' || path.endsWith('/.gitignore')) && header.size <= RULE_BYTES
    if (isRules && this.ignoreRules.size < RULE_FILES) {
      const rules = await entry.bytes()
      this.ignoreRules.set(path, Buffer.from(rules))
      yield rules
    } else yield* entry.body()
    yield NEWLINE
  }
}

const NEWLINE = Buffer.from('\n')

/** Relative, without anything that leads elsewhere; null for what a tree cannot have, such as `.git` itself. */
function safePath(name: string): string | null {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.')
  if (parts.length === 0 || name.includes('\0')) return null
  return parts.some((part) => part === '..' || /^\.git$/i.test(part)) ? null : parts.join('/')
}

/**
 * A commit of exactly these entries, whose identifier is written to standard output; no branch stays. The same entries give the same
 * commit at any time.
 */
export function commitCommands(branch: string, entries: Iterable<TreeEntry>): Buffer {
  const head = `commit refs/heads/${branch}\nmark :${COMMIT_MARK}\ncommitter Hearth <agent@hearth.invalid> 0 +0000\ndata 4\ntree\ndeleteall\n`
  const lines = Array.from(entries, ({ mode, mark, path }) => `M ${mode} :${mark} ${quote(path)}\n`)
  const end = `\nget-mark :${COMMIT_MARK}\nreset refs/heads/${branch}\nfrom ${'0'.repeat(40)}\n\ndone\n`
  return Buffer.from(`${head}${lines.join('')}${end}`)
}

/** Beyond the numbers of all contents. */
const COMMIT_MARK = 1_000_000_000

function quote(path: string): string {
  // eslint-disable-next-line no-control-regex
  return `"${path.replace(/["\\\x01-\x1f]/g, (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`)}"`
}
