import { basename, join } from 'node:path/posix'
import {
  type Content,
  type FileInfo,
  type Files,
  guestPathSchema,
  HearthError,
  parseInput,
  type ReadOptions,
  type WriteOptions,
} from '@hearth/contract'
import { assertNotAborted } from '../../link/abort.ts'
import { TEMPLATE_USER } from '../../templates/base-files.ts'
import type { MemoryTree } from './memory-tree.ts'
import { archiveTree, extractTree } from './tree-archive.ts'
import { onTree } from './tree-errors.ts'
import { nodeSize, type Entries, type TreeNode } from './tree-node.ts'

const CHUNK = 256 * 1024

/** The files of a simulated machine. There is one user, so `user` options change nothing that could be seen. */
export class SimulatedFiles implements Files {
  readonly #tree: MemoryTree
  readonly #requireRunning: () => void

  constructor(tree: MemoryTree, requireRunning: () => void) {
    this.#tree = tree
    this.#requireRunning = requireRunning
  }

  async read(path: string, options: ReadOptions = {}): Promise<Uint8Array> {
    const checked = this.#path(path)
    assertNotAborted(options.signal)
    const { offset = 0, length = Number.MAX_SAFE_INTEGER } = options
    if (!Number.isSafeInteger(offset) || !Number.isSafeInteger(length) || offset < 0 || length < 0) {
      throw new HearthError('invalid_request', 'offset and length must be whole numbers from 0')
    }
    return onTree(() => this.#tree.read(checked).slice(offset, offset + length))
  }

  async readText(path: string, options?: ReadOptions): Promise<string> {
    return Buffer.from(await this.read(path, options)).toString('utf8')
  }

  async *readStream(path: string, options?: ReadOptions): AsyncGenerator<Uint8Array, void> {
    // The whole range is taken at once, so that what is read is one state of the file.
    const bytes = await this.read(path, options)
    for (let start = 0; start < bytes.length; start += CHUNK) {
      assertNotAborted(options?.signal)
      yield bytes.subarray(start, start + CHUNK)
    }
  }

  async write(path: string, content: Content, options: WriteOptions = {}): Promise<FileInfo> {
    const checked = this.#path(path)
    const bytes = await this.#collect(content, options.signal)
    onTree(() => {
      if (options.parents !== false) this.#tree.makeDirectory(join(checked, '..'), { parents: true })
      if (options.append !== true) this.#tree.write(checked, bytes, pickWrite(options))
      else {
        this.#tree.append(checked, bytes)
        if (options.mode !== undefined) this.#tree.setMode(checked, options.mode)
      }
    })
    return await this.stat(checked)
  }

  async stat(path: string, options: { readonly followSymlinks?: boolean } = {}): Promise<FileInfo> {
    const checked = this.#path(path)
    return onTree(() => describe(path, this.#tree.get(checked, 'stat', options.followSymlinks !== false)))
  }

  async exists(path: string): Promise<boolean> {
    return await this.stat(path, { followSymlinks: false }).then(
      () => true,
      (error: unknown) => {
        if (HearthError.isInstance(error) && ['file_not_found', 'not_a_directory'].includes(error.code)) return false
        throw error
      },
    )
  }

  async list(path: string, options: { readonly depth?: number } = {}): Promise<FileInfo[]> {
    const checked = this.#path(path)
    const found: FileInfo[] = []
    const visit = (directory: string, entries: Entries, depth: number): void => {
      for (const [name, node] of entries) {
        found.push(describe(join(directory, name), node))
        if (node.kind === 'directory' && depth > 1) visit(join(directory, name), node.entries, depth - 1)
      }
    }
    onTree(() => visit(checked, this.#tree.list(checked), options.depth ?? 1))
    return found.toSorted((a, b) => (a.path < b.path ? -1 : 1))
  }

  async makeDirectory(
    path: string,
    options: { readonly parents?: boolean; readonly mode?: number; readonly user?: string } = {},
  ): Promise<void> {
    const checked = this.#path(path)
    const mode = options.mode === undefined ? {} : { mode: options.mode }
    onTree(() => this.#tree.makeDirectory(checked, { parents: options.parents !== false, ...mode }))
  }

  async rename(from: string, to: string): Promise<void> {
    const [source, target] = [this.#path(from), this.#path(to)]
    onTree(() => this.#tree.rename(source, target))
  }

  async remove(path: string, options: { readonly recursive?: boolean; readonly force?: boolean } = {}): Promise<void> {
    const checked = this.#path(path)
    onTree(() => this.#tree.remove(checked, options))
  }

  async symlink(target: string, path: string): Promise<void> {
    const checked = this.#path(path)
    if (target === '' || target.includes('\0')) throw new HearthError('invalid_request', 'a link needs a target')
    onTree(() => this.#tree.symlink(target, checked))
  }

  async chmod(path: string, mode: number): Promise<void> {
    const checked = this.#path(path)
    onTree(() => this.#tree.setMode(checked, mode))
  }

  archive(path: string, options: { readonly signal?: AbortSignal } = {}): AsyncIterable<Uint8Array> {
    return archiveTree(this.#tree, this.#path(path), options.signal)
  }

  async extract(
    path: string,
    archive: Uint8Array | AsyncIterable<Uint8Array>,
    options: { readonly signal?: AbortSignal; readonly user?: string } = {},
  ): Promise<void> {
    await extractTree(this.#tree, this.#path(path), archive, options.signal)
  }

  #path(path: string): string {
    this.#requireRunning()
    return parseInput(guestPathSchema, path, 'path')
  }

  /** Stops early: what does not fit on the disk is not collected in memory first. */
  async #collect(content: Content, signal: AbortSignal | undefined): Promise<Uint8Array> {
    assertNotAborted(signal)
    if (typeof content === 'string') return Buffer.from(content)
    if (content instanceof Uint8Array) return content.slice()
    const parts: Uint8Array[] = []
    let length = 0
    for await (const part of content) {
      assertNotAborted(signal)
      length += part.length
      if (length > this.#tree.limits.bytes) throw tooLarge()
      parts.push(part.slice())
    }
    return Buffer.concat(parts)
  }
}

function tooLarge(): HearthError {
  return new HearthError('disk_full', 'the content is larger than the disk of the sandbox')
}

function pickWrite({ mode, exclusive }: WriteOptions): { mode?: number; exclusive?: boolean } {
  return { ...(mode === undefined ? {} : { mode }), ...(exclusive === undefined ? {} : { exclusive }) }
}

function describe(path: string, node: TreeNode): FileInfo {
  return {
    path,
    name: basename(path),
    type: node.kind === 'sink' ? 'device' : node.kind,
    size: nodeSize(node),
    mode: node.mode,
    uid: TEMPLATE_USER.id,
    gid: TEMPLATE_USER.id,
    modifiedAt: new Date(node.modifiedMs),
    target: node.kind === 'symlink' ? node.target : null,
  }
}
