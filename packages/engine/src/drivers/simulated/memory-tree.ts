import {
  type Entries,
  type FileNode,
  type MemoryDirectory,
  type SymlinkNode,
  type TreeChange,
  TreeError,
  type TreeLimits,
  type TreeNode,
} from './tree-node.ts'
import { copyNode } from './tree-copy.ts'
import {
  mountedDirectory,
  requireMovable,
  requireName,
  requireRemovable,
  setMode,
  setModified,
  sharedVolume,
  writeToVolume,
} from './tree-mounts.ts'
import { type Location, locate, locateOrNull } from './tree-paths.ts'
import { type MountedVolume, VolumeDirectory } from './volume-directory.ts'

/**
 * A file system in memory. Every call is synchronous, so each is atomic: nobody sees half of a write or of a rename.
 * Its bytes and its entries are bounded, and a call that would go beyond fails with ENOSPC and changes nothing.
 */
export class MemoryTree {
  readonly root: MemoryDirectory
  readonly limits: TreeLimits
  readonly #listeners = new Set<(change: TreeChange) => void>()
  readonly #mounts: string[] = []
  #nextId = 1
  #bytes = 0
  #entries = 0

  constructor(limits: TreeLimits) {
    this.limits = limits
    this.root = this.#directory(0o755)
  }

  /** Shows the files of a volume at a place, whatever was there. */
  mount(path: string, volume: Omit<MountedVolume, 'mostBytes'>): void {
    this.makeDirectory(path, { parents: true })
    const { parent, name } = this.locate(path, 'mount')
    if (parent.volume !== null) throw new TreeError('EINVAL', 'mount', path)
    this.#mounts.push(path)
    const directory = new VolumeDirectory({ ...volume, mostBytes: this.limits.bytes })
    parent.entries.set(name, mountedDirectory(directory))
  }

  isInVolume(path: string): boolean {
    return this.#mounts.some((place) => path.startsWith(`${place}/`))
  }

  /** A tree of its own with the same content, as it is at this moment. Where a volume is shown it has an empty directory. */
  clone(): MemoryTree {
    const copy = new MemoryTree(this.limits)
    const files = new Map<FileNode, FileNode>()
    for (const [name, node] of this.root.entries) copy.root.entries.set(name, copyNode(node, files))
    copy.root.mode = this.root.mode
    copy.#nextId = this.#nextId
    copy.#bytes = this.#bytes
    copy.#entries = this.#entries
    return copy
  }

  get usedBytes(): number {
    return this.#bytes
  }

  get entryCount(): number {
    return this.#entries
  }

  onChange(listener: (change: TreeChange) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  locate(path: string, operation: string, follow = true): Location {
    return locate(this.root, path, operation, follow)
  }

  get(path: string, operation: string, follow = true): TreeNode {
    const { node } = this.locate(path, operation, follow)
    if (node === undefined) throw new TreeError('ENOENT', operation, path)
    return node
  }

  /** The content of a file: a view that later writes may change. */
  read(path: string): Uint8Array {
    const node = this.get(path, 'open')
    if (node.kind === 'directory') throw new TreeError('EISDIR', 'read', path)
    return node.kind === 'file' ? node.buffer.subarray(0, node.length) : new Uint8Array()
  }

  list(path: string): Entries {
    const node = this.get(path, 'scandir')
    if (node.kind !== 'directory') throw new TreeError('ENOTDIR', 'scandir', path)
    return node.entries
  }

  /** Replaces the content in one step. The bytes belong to the tree afterwards. */
  write(path: string, bytes: Uint8Array, options: { mode?: number; exclusive?: boolean } = {}): void {
    const place = this.locate(path, 'open', options.exclusive !== true)
    if (place.node !== undefined && options.exclusive === true) throw new TreeError('EEXIST', 'open', path)
    if (place.parent.volume !== null)
      return writeToVolume(place, place.parent.volume, bytes, {
        mode: options.mode,
        tell: (change) => this.#tell(change),
      })
    if (place.node?.kind === 'sink') return
    const file = this.#fileAt(place, path, bytes.length, options.mode)
    this.#bytes += bytes.length - file.length
    file.buffer = bytes
    file.length = bytes.length
    this.#touched(file, place)
  }

  append(path: string, bytes: Uint8Array): void {
    const place = this.locate(path, 'append')
    const tell = (change: TreeChange): void => this.#tell(change)
    if (place.parent.volume !== null) return writeToVolume(place, place.parent.volume, bytes, { append: true, tell })
    if (place.node?.kind === 'sink') return
    const current = place.node?.kind === 'file' ? place.node.length : 0
    const file = this.#fileAt(place, path, current + bytes.length, undefined)
    if (file.buffer.length < current + bytes.length) {
      const grown = new Uint8Array(Math.max(2 * current, current + bytes.length))
      grown.set(file.buffer.subarray(0, current))
      file.buffer = grown
    }
    file.buffer.set(bytes, current)
    file.length = current + bytes.length
    this.#bytes += bytes.length
    this.#touched(file, place)
  }

  makeDirectory(path: string, options: { parents?: boolean; mode?: number } = {}): void {
    if (options.parents === true) this.#makeParents(path)
    const place = this.locate(path, 'mkdir', options.parents === true)
    if (place.node !== undefined) {
      if (options.parents === true && place.node.kind === 'directory') return
      throw new TreeError('EEXIST', 'mkdir', path)
    }
    const mode = options.mode ?? 0o755
    if (place.parent.volume === null) return this.#add(place, this.#directory(mode), path)
    place.parent.volume.makeDirectory(place.name, mode)
    this.#tell({ kind: 'created', path: place.path, from: null })
  }

  symlink(target: string, path: string): void {
    const place = this.locate(path, 'symlink', false)
    if (place.node !== undefined) throw new TreeError('EEXIST', 'symlink', path)
    if (place.parent.volume !== null) {
      place.parent.volume.symlink(target, place.name)
      return this.#tell({ kind: 'created', path: place.path, from: null })
    }
    const link: SymlinkNode = { kind: 'symlink', id: this.#nextId++, mode: 0o777, modifiedMs: Date.now(), target }
    this.#add(place, link, path)
  }

  /** A second name for a file. */
  link(existing: string, path: string): void {
    const source = this.locate(existing, 'link', false)
    const { node } = source
    if (node === undefined) throw new TreeError('ENOENT', 'link', existing)
    if (node.kind !== 'file') throw new TreeError('EPERM', 'link', existing)
    const place = this.locate(path, 'link', false)
    if (place.node !== undefined) throw new TreeError('EEXIST', 'link', path)
    const volume = sharedVolume(source, place, 'link')
    if (volume !== null) {
      volume.from.link(source.name, volume.to, place.name)
      return this.#tell({ kind: 'created', path: place.path, from: null })
    }
    this.#add(place, node, path)
    node.links++
  }

  /** A name that swallows what is written to it. */
  addSink(path: string): void {
    const sink = { kind: 'sink', id: this.#nextId++, mode: 0o666, modifiedMs: Date.now() } as const
    this.#add(this.locate(path, 'mknod'), sink, path)
  }

  remove(path: string, options: { recursive?: boolean; force?: boolean } = {}): void {
    const place = locateOrNull(this.root, path, 'rm')
    if (place?.node === undefined) {
      if (options.force === true) return
      throw new TreeError('ENOENT', 'rm', path)
    }
    if (place.name === '') throw new TreeError('EPERM', 'rm', path)
    requireRemovable({ ...place, node: place.node }, path, options.recursive === true)
    if (place.parent.volume === null) {
      place.parent.entries.delete(place.name)
      place.parent.modifiedMs = Date.now()
      this.#release(place.node)
    } else place.parent.volume.remove(place.name, options.recursive === true)
    this.#tell({ kind: 'removed', path: place.path, from: null })
  }

  rename(from: string, to: string): void {
    const source = this.locate(from, 'rename', false)
    const target = this.locate(to, 'rename', false)
    if (source.node === undefined) throw new TreeError('ENOENT', 'rename', from)
    if (source.node === target.node || source.path === target.path) return
    requireMovable({ ...source, node: source.node }, target, { from, to })
    const volume = sharedVolume(source, target, 'rename')
    if (volume !== null) volume.from.rename(source.name, volume.to, target.name)
    else this.#move(source, target)
    this.#tell({ kind: 'renamed', path: target.path, from: source.path })
  }

  setMode(path: string, mode: number): void {
    const place = this.locate(path, 'chmod')
    if (place.node === undefined) throw new TreeError('ENOENT', 'chmod', path)
    setMode(place, mode & 0o7777)
    this.#tell({ kind: 'attributes', path: place.path, from: null })
  }

  setModified(path: string, modifiedMs: number, follow = true): void {
    const place = this.locate(path, 'utimes', follow)
    if (place.node === undefined) throw new TreeError('ENOENT', 'utimes', path)
    setModified(place, modifiedMs)
  }

  /** Both lie in memory. */
  #move(source: Location, target: Location): void {
    if (source.parent.volume !== null || target.parent.volume !== null || source.node === undefined) return
    if (target.node !== undefined) this.#release(target.node)
    source.parent.entries.delete(source.name)
    target.parent.entries.set(target.name, source.node)
    source.parent.modifiedMs = target.parent.modifiedMs = Date.now()
  }

  /** An existing file, or a new one of length 0; there is room for its content to become `length` bytes. */
  #fileAt(place: Location, path: string, length: number, mode: number | undefined): FileNode {
    if (place.node?.kind === 'directory' || place.name === '') throw new TreeError('EISDIR', 'open', path)
    const existing = place.node?.kind === 'file' ? place.node : undefined
    if (length - (existing?.length ?? 0) > this.limits.bytes - this.#bytes) throw new TreeError('ENOSPC', 'write', path)
    if (existing !== undefined) {
      if (mode !== undefined) existing.mode = mode & 0o7777
      return existing
    }
    const now = Date.now()
    const file: FileNode = {
      kind: 'file',
      id: this.#nextId++,
      mode: (mode ?? 0o644) & 0o7777,
      modifiedMs: now,
      buffer: new Uint8Array(),
      length: 0,
      links: 1,
    }
    this.#add(place, file, path)
    return file
  }

  #makeParents(path: string): void {
    const parts = path.split('/').filter((part) => part !== '')
    for (let end = 1; end < parts.length; end++) {
      const parent = `/${parts.slice(0, end).join('/')}`
      const place = this.locate(parent, 'mkdir')
      if (place.node === undefined) this.makeDirectory(parent)
      else if (place.node.kind !== 'directory') throw new TreeError('ENOTDIR', 'mkdir', parent)
    }
  }

  #directory(mode: number): MemoryDirectory {
    return { kind: 'directory', volume: null, id: this.#nextId++, mode, modifiedMs: Date.now(), entries: new Map() }
  }

  #add(place: Location, node: TreeNode, path: string): void {
    if (this.#entries >= this.limits.entries) throw new TreeError('ENOSPC', 'open', path)
    requireName(place.name, path)
    if (place.parent.volume !== null) throw new TreeError('EINVAL', 'open', path)
    this.#entries++
    place.parent.entries.set(place.name, node)
    place.parent.modifiedMs = Date.now()
    this.#tell({ kind: 'created', path: place.path, from: null })
  }

  #release(node: TreeNode): void {
    this.#entries--
    if (node.kind === 'file' && --node.links === 0) this.#bytes -= node.length
    if (node.kind === 'directory' && node.volume === null)
      for (const child of node.entries.values()) this.#release(child)
  }

  #touched(file: FileNode, place: Location): void {
    file.modifiedMs = Date.now()
    this.#tell({ kind: 'changed', path: place.path, from: null })
  }

  #tell(change: TreeChange): void {
    for (const listener of this.#listeners) listener(change)
  }
}
