import { HearthError } from '@hearth/contract'
import { blobEnd, blobHead, treePath, wholeBlob, type TreeEntry } from '@hearth/engine/git'
import { readTar, TarError, type TarEntry } from '@hearth/engine/tar'

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
        const path = treePath(entry.header.path)
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
    const isRules = (path === '.gitignore' || path.endsWith('/.gitignore')) && header.size <= RULE_BYTES
    if (isRules && this.ignoreRules.size < RULE_FILES) {
      const rules = await entry.bytes()
      this.ignoreRules.set(path, Buffer.from(rules))
      yield rules
    } else yield* entry.body()
    yield blobEnd()
  }
}
