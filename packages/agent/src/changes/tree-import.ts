import { BOUNDS, HearthError } from '@hearth/contract'
import { blobEnd, blobHead, treePath, wholeBlob, type TreeEntry } from '@hearth/engine/git'
import { readTar, TarError, type TarEntry } from '@hearth/engine/tar'
import { pathsOfIndex } from './git-index.ts'

export interface TreeLimits {
  readonly entries: number
  readonly bytes: number
}

/** Of all that comes, with what is left out. */
export interface ArchiveLimits {
  readonly entries: number
  readonly bytes: number
  readonly nameBytes: number
  readonly indexBytes: number
}

export const ARCHIVE_LIMITS: ArchiveLimits = {
  entries: BOUNDS.agentArchiveEntries,
  bytes: BOUNDS.agentArchiveBytes,
  nameBytes: BOUNDS.agentArchiveNameBytes,
  indexBytes: BOUNDS.agentIndexBytes,
}

const PATH_BYTES = 4096
/** Files with rules about what is ignored are needed again. */
const RULE_BYTES = 256 * 1024
const RULE_FILES = 1000
/** Where all of it is ignored in nearly every repository, so that rules in there would only keep out the others. */
const FOREIGN = /(^|\/)node_modules\//

/** There is more in the working directory than changes are counted in. */
export class TreeTooLarge extends HearthError {
  constructor(what: string) {
    super('file_failed', `the working directory cannot be read: it has more than ${what} without what is ignored`, {
      suggestion: 'Name in `.gitignore` what is no source, or work in a directory below it.',
    })
  }
}

/** What an archive holds: its names, and as blobs for `git fast-import` its contents; afterwards `entries` says where each belongs. */
export class TreeImport {
  readonly entries = new Map<string, TreeEntry>()
  /** The `.gitignore` files, by path. */
  readonly ignoreRules = new Map<string, Buffer>()
  /** What the index of the repository lists. */
  tracked: readonly string[] = []
  readonly #archive: ArchiveLimits
  #mark = 0
  #bytes = 0

  constructor(archive: ArchiveLimits) {
    this.#archive = archive
  }

  /**
   * SAFETY: the archive comes out of a sandbox. Nothing of it is written under its own name on the host: contents become git objects,
   * names become entries of a tree, and those that git could take for its own are left out.
   */
  async *blobs(
    archive: AsyncIterable<Uint8Array>,
    limits: TreeLimits,
    leftOut: ReadonlySet<string>,
  ): AsyncGenerator<Uint8Array, void> {
    for await (const { path, entry } of this.#read(archive)) {
      if (leftOut.has(path)) continue
      this.#bytes += entry.header.size
      if (this.#bytes > limits.bytes) throw new TreeTooLarge(`${limits.bytes} bytes`)
      yield* this.#blob(path, entry)
      if (this.entries.size > limits.entries) throw new TreeTooLarge(`${limits.entries} files`)
    }
  }

  /** Names and rules alone: what is found out before the contents are taken. */
  async names(archive: AsyncIterable<Uint8Array>): Promise<Set<string>> {
    const names = new Set<string>()
    let bytes = 0
    for await (const { path, entry } of this.#read(archive)) {
      bytes += Buffer.byteLength(path)
      if (bytes > this.#archive.nameBytes) throw tooMuch(`its names have more than ${this.#archive.nameBytes} bytes`)
      if (entry.header.type !== 'directory') names.add(path)
      if (this.#isRules(path, entry)) await this.#takeRules(path, entry)
    }
    return names
  }

  async *#read(archive: AsyncIterable<Uint8Array>): AsyncGenerator<{ path: string; entry: TarEntry }, void> {
    const { entries, bytes: totalBytes } = this.#archive
    try {
      for await (const entry of readTar(archive, { entries, totalBytes, pathBytes: PATH_BYTES })) {
        const path = treePath(entry.header.path)
        if (path !== null) yield { path, entry }
        else if (this.#isIndex(entry)) this.tracked = pathsOfIndex(await entry.bytes())
      }
    } catch (error) {
      if (!(error instanceof TarError)) throw error
      throw tooMuch(error.message, error)
    }
  }

  async *#blob(path: string, entry: TarEntry): AsyncGenerator<Uint8Array, void> {
    const { header } = entry
    if (header.type === 'hardlink') {
      const target = treePath(header.target)
      const other = target === null ? undefined : this.entries.get(target)
      if (other !== undefined) this.entries.set(path, { ...other, path })
      return
    }
    if (header.type === 'symlink') {
      const mark = ++this.#mark
      yield wholeBlob(mark, Buffer.from(header.target))
      this.entries.set(path, { path, mode: '120000', mark })
      return
    }
    if (header.type !== 'file') return
    const mark = ++this.#mark
    this.entries.set(path, { path, mode: (header.mode & 0o100) === 0 ? '100644' : '100755', mark })
    yield blobHead(mark, header.size)
    if (this.#isRules(path, entry)) yield await this.#takeRules(path, entry)
    else yield* entry.body()
    yield blobEnd()
  }

  #isIndex({ header }: TarEntry): boolean {
    const isNamed = header.path.replace(/^(\.\/)+/, '') === '.git/index'
    return isNamed && header.size <= this.#archive.indexBytes
  }

  #isRules(path: string, { header }: TarEntry): boolean {
    if (header.type !== 'file' || header.size > RULE_BYTES || this.ignoreRules.size >= RULE_FILES) return false
    return (path === '.gitignore' || path.endsWith('/.gitignore')) && !FOREIGN.test(path)
  }

  async #takeRules(path: string, entry: TarEntry): Promise<Buffer> {
    const rules = Buffer.from(await entry.bytes())
    this.ignoreRules.set(path, rules)
    return rules
  }
}

function tooMuch(problem: string, cause?: unknown): HearthError {
  return new HearthError('file_failed', `the working directory cannot be read: ${problem}`, { cause })
}
