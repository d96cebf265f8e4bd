import { setImmediate } from 'node:timers/promises'
import type { BufferEncoding, CpOptions, FileContent, FsStat, IFileSystem, MkdirOptions, RmOptions } from 'just-bash'
import type { MemoryTree } from './memory-tree.ts'
import { nodeSize, TreeError, type TreeNode } from './tree-node.ts'

/** Takes what a command wrote to a stream; resolves when the reader has room. */
export type StreamSink = (bytes: Uint8Array) => Promise<void>

type Encoding = BufferEncoding | { encoding?: BufferEncoding | null } | undefined

/** The shell never lets other work of this process wait longer than this. */
const LONGEST_TURN_MS = 5

/** The tree as one run of the shell sees it: with two more names, which lead to the run's own output. */
export class ShellFileSystem implements IFileSystem {
  readonly #tree: MemoryTree
  readonly #sinks: ReadonlyMap<string, StreamSink>
  #turnStarted = Date.now()

  constructor(tree: MemoryTree, sinks: ReadonlyMap<string, StreamSink>) {
    this.#tree = tree
    this.#sinks = sinks
  }

  async readFile(path: string, options?: Encoding): Promise<string> {
    return Buffer.from(await this.readFileBuffer(path)).toString(encodingOf(options))
  }

  async readFileBuffer(path: string): Promise<Uint8Array> {
    await this.#yield()
    return this.#tree.read(path)
  }

  async writeFile(path: string, content: FileContent, options?: Encoding): Promise<void> {
    await this.#yield()
    this.#tree.write(path, ownBytes(content, options))
  }

  async appendFile(path: string, content: FileContent, options?: Encoding): Promise<void> {
    await this.#yield()
    const bytes = ownBytes(content, options)
    const sink = this.#sinks.get(path)
    if (sink === undefined) this.#tree.append(path, bytes)
    else if (bytes.length > 0) await sink(bytes)
  }

  async exists(path: string): Promise<boolean> {
    try {
      await this.stat(path)
      return true
    } catch (error) {
      if (error instanceof TreeError) return false
      throw error
    }
  }

  async stat(path: string): Promise<FsStat> {
    await this.#yield()
    return this.#sinks.has(path) ? SINK_STATUS : status(this.#tree.get(path, 'stat'))
  }

  async lstat(path: string): Promise<FsStat> {
    await this.#yield()
    return this.#sinks.has(path) ? SINK_STATUS : status(this.#tree.get(path, 'lstat', false))
  }

  async mkdir(path: string, options?: MkdirOptions): Promise<void> {
    this.#tree.makeDirectory(path, { parents: options?.recursive === true })
  }

  async readdir(path: string): Promise<string[]> {
    await this.#yield()
    return [...this.#tree.list(path).keys()].toSorted()
  }

  async readdirWithFileTypes(
    path: string,
  ): Promise<{ name: string; isFile: boolean; isDirectory: boolean; isSymbolicLink: boolean }[]> {
    await this.#yield()
    const entries = [...this.#tree.list(path)].toSorted(([a], [b]) => (a < b ? -1 : 1))
    return entries.map(([name, node]) => ({ name, ...kindOf(node) }))
  }

  async rm(path: string, options?: RmOptions): Promise<void> {
    this.#tree.remove(path, { recursive: options?.recursive === true, force: options?.force === true })
  }

  async cp(source: string, destination: string, options?: CpOptions): Promise<void> {
    await this.#yield()
    const node = this.#tree.get(source, 'cp')
    if (node.kind !== 'directory') {
      this.#tree.write(destination, new Uint8Array(this.#tree.read(source)), { mode: node.mode })
      return
    }
    if (options?.recursive !== true) throw new TreeError('EISDIR', 'cp', source)
    const from = this.#tree.locate(source, 'cp').path
    if (`${this.#tree.locate(destination, 'cp').path}/`.startsWith(`${from}/`))
      throw new TreeError('EINVAL', 'cp', source)
    this.#tree.makeDirectory(destination, { parents: true, mode: node.mode })
    for (const [name, child] of new Map(node.entries)) {
      if (child.kind === 'symlink') this.#tree.symlink(child.target, `${destination}/${name}`)
      else await this.cp(`${source}/${name}`, `${destination}/${name}`, options)
    }
  }

  async mv(source: string, destination: string): Promise<void> {
    try {
      this.#tree.rename(source, destination)
    } catch (error) {
      if (!(error instanceof TreeError) || error.code !== 'EXDEV') throw error
      // As `mv` does between file systems.
      await this.cp(source, destination, { recursive: true })
      this.#tree.remove(source, { recursive: true })
    }
  }

  resolvePath(base: string, path: string): string {
    const parts: string[] = []
    for (const part of (path.startsWith('/') ? path : `${base}/${path}`).split('/')) {
      if (part === '..') parts.pop()
      else if (part !== '' && part !== '.') parts.push(part)
    }
    return `/${parts.join('/')}`
  }

  getAllPaths(): string[] {
    const paths: string[] = []
    const visit = (node: TreeNode, path: string): void => {
      if (node.kind !== 'directory') return
      for (const [name, child] of node.entries) {
        paths.push(`${path}/${name}`)
        visit(child, `${path}/${name}`)
      }
    }
    visit(this.#tree.root, '')
    return paths
  }

  async chmod(path: string, mode: number): Promise<void> {
    this.#tree.setMode(path, mode)
  }

  async symlink(target: string, path: string): Promise<void> {
    this.#tree.symlink(target, path)
  }

  async link(existing: string, path: string): Promise<void> {
    this.#tree.link(existing, path)
  }

  async readlink(path: string): Promise<string> {
    const node = this.#tree.get(path, 'readlink', false)
    if (node.kind !== 'symlink') throw new TreeError('EINVAL', 'readlink', path)
    return node.target
  }

  async realpath(path: string): Promise<string> {
    const place = this.#tree.locate(path, 'realpath')
    if (place.node === undefined) throw new TreeError('ENOENT', 'realpath', path)
    return place.path
  }

  async utimes(path: string, _accessed: Date, modified: Date): Promise<void> {
    this.#tree.setModified(path, modified.getTime())
  }

  /** A script is a chain of promises that never lets a timer in; without this a loop would hold up the whole process. */
  async #yield(): Promise<void> {
    if (Date.now() - this.#turnStarted < LONGEST_TURN_MS) return
    await setImmediate()
    this.#turnStarted = Date.now()
  }
}

const SINK_STATUS: FsStat = { ...kindOf({ kind: 'sink' }), mode: 0o666, size: 0, mtime: new Date(0) }

function status(node: TreeNode): FsStat {
  return {
    ...kindOf(node),
    mode: node.mode,
    size: nodeSize(node),
    mtime: new Date(node.modifiedMs),
    ino: node.id,
    dev: 1,
  }
}

function kindOf(node: Pick<TreeNode, 'kind'>): { isFile: boolean; isDirectory: boolean; isSymbolicLink: boolean } {
  const { kind } = node
  return {
    isFile: kind === 'file' || kind === 'sink',
    isDirectory: kind === 'directory',
    isSymbolicLink: kind === 'symlink',
  }
}

function encodingOf(options: Encoding): NodeJS.BufferEncoding {
  return (typeof options === 'string' ? options : options?.encoding) ?? 'utf8'
}

/** A copy, because the tree keeps what it is given. */
function ownBytes(content: FileContent, options: Encoding): Uint8Array {
  return typeof content === 'string' ? Buffer.from(content, encodingOf(options)) : new Uint8Array(content)
}
