import {
  chmodSync,
  linkSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  lchownSync,
  readdirSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { TarError, type TarHeader } from '../tar/tar-header.ts'
import { readTar, type TarEntry } from '../tar/tar-reader.ts'
import { imageInvalid } from './image-error.ts'
import type { UnpackLimits } from './image-limits.ts'
import { safeComponents, ScopedDirectories } from './scoped-path.ts'
import { seconds, writeEntry } from './write-entry.ts'

const WHITEOUT = '.wh.'
const OPAQUE = '.wh..wh..opq'
/** The highest number is no owner: it means "leave it" to the kernel. */
const MAXIMUM_ID = 0xff_ff_ff_fe

/**
 * Lays the layers of an image over each other in one directory.
 *
 * Hostile layers are expected: names are resolved in the root alone, a file is always a new one (never written through a
 * link), device nodes and pipes are left out, hard links join files of the root only, and sizes and counts are bounded.
 * Setuid and setgid bits of files are dropped: in a sandbox no program gains privileges anyway, and on the host a setuid
 * file of somebody else's making must not lie around.
 */
export class LayerUnpacker {
  readonly #root: string
  readonly #limits: UnpackLimits
  readonly #directories: ScopedDirectories
  readonly #isRoot = process.getuid?.() === 0
  /** Of directories, set at the end: what is written into one would change its time again. */
  readonly #late = new Map<string, { readonly mode: number; readonly modifiedMs: number }>()
  /** What the current layer made; whiteouts are about the layers below it. */
  #made = new Set<string>()
  #bytes = 0
  #entries = 0

  constructor(root: string, limits: UnpackLimits) {
    this.#root = root
    this.#limits = limits
    this.#directories = new ScopedDirectories(root)
  }

  /** The directory must exist. On an error it holds a part and must be removed. */
  async unpack(tar: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
    this.#made = new Set()
    const { layerBytes, totalBytes, entries, pathBytes } = this.#limits
    const limits = {
      totalBytes: Math.min(layerBytes, totalBytes - this.#bytes),
      entries: entries - this.#entries,
      pathBytes,
    }
    try {
      for await (const entry of readTar(tar, limits)) {
        signal.throwIfAborted()
        this.#entries++
        this.#bytes += entry.header.size
        await this.#apply(entry)
      }
    } catch (error) {
      if (error instanceof TarError) throw imageInvalid(error.message, {}, error)
      throw error
    }
  }

  finish(): void {
    this.#directories.forget()
    for (const [path, { mode, modifiedMs }] of [...this.#late].toReversed()) {
      // A later layer may have put something else there, or a link above it.
      const components = path
        .slice(this.#root.length)
        .split('/')
        .filter((part) => part !== '')
      if (this.#directories.resolve(components, false) !== path) continue
      chmodSync(path, (this.#isRoot ? mode : mode | 0o700) & 0o3777)
      utimesSync(path, seconds(modifiedMs), seconds(modifiedMs))
    }
  }

  async #apply(entry: TarEntry): Promise<void> {
    const { header } = entry
    if (header.uid > MAXIMUM_ID || header.gid > MAXIMUM_ID) throw imageInvalid(`${header.path} has no valid owner`)
    const components = safeComponents(header.path)
    const name = components.pop()
    if (name === undefined) {
      if (header.type === 'directory') this.#late.set(this.#root, header)
      return
    }
    // Directories of that form are notes of one storage driver to itself, like the files that `#whiteout` passes over.
    if (components.some((component) => component.startsWith(WHITEOUT))) return
    if (name.startsWith(WHITEOUT)) {
      this.#whiteout(components, name)
      return
    }
    // SAFETY: never created, whatever the image says; /dev is made by the runtime.
    if (header.type === 'device' || header.type === 'fifo') return
    const directory = this.#directories.resolve(components, true)
    if (directory === null) return
    const path = join(directory, name)
    if (header.type === 'directory') this.#makeDirectory(path, header)
    else await this.#replace(path, entry)
    this.#made.add(path)
    if (directory !== this.#root) this.#made.add(directory)
  }

  #makeDirectory(path: string, header: TarHeader): void {
    const existing = lstatSync(path, { throwIfNoEntry: false })
    if (existing?.isDirectory() !== true) {
      if (existing !== undefined) this.#remove(path)
      mkdirSync(path, { mode: 0o755 })
    }
    if (this.#isRoot) lchownSync(path, header.uid, header.gid)
    this.#late.set(path, header)
  }

  async #replace(path: string, entry: TarEntry): Promise<void> {
    const { header } = entry
    // Before the old one is removed: a link to itself must not leave nothing.
    const existingTarget = header.type === 'hardlink' ? this.#linkTarget(header) : null
    if (existingTarget === path) return
    this.#remove(path)
    if (existingTarget !== null) {
      linkSync(existingTarget, path)
      return
    }
    if (header.type === 'symlink') {
      symlinkSync(header.target, path)
      if (this.#isRoot) lchownSync(path, header.uid, header.gid)
      lutimesSync(path, seconds(header.modifiedMs), seconds(header.modifiedMs))
      return
    }
    await writeEntry(path, entry, this.#isRoot)
  }

  /** SAFETY: a hard link gives a second name to an inode, so it must be a file that this image brought. */
  #linkTarget(header: TarHeader): string {
    const components = safeComponents(header.target)
    const name = components.pop()
    const directory = name === undefined ? null : this.#directories.resolve(components, false)
    const path = directory === null || name === undefined ? null : join(directory, name)
    const status = path === null ? undefined : lstatSync(path, { throwIfNoEntry: false })
    if (path === null || status === undefined || !(status.isFile() || status.isSymbolicLink())) {
      throw imageInvalid(`the hard link ${header.path} has no target in the image`, { target: header.target })
    }
    return path
  }

  #whiteout(components: readonly string[], name: string): void {
    const directory = this.#directories.resolve(components, false)
    if (name === OPAQUE) {
      if (directory !== null) this.#hideBelow(directory)
      return
    }
    // Other names of this form are notes of one storage driver to itself.
    if (name.startsWith(`${WHITEOUT}${WHITEOUT}`)) return
    const hidden = name.slice(WHITEOUT.length)
    if (['', '.', '..'].includes(hidden)) throw imageInvalid(`the whiteout ${name} names nothing`, { name })
    if (directory === null || this.#made.has(join(directory, hidden))) return
    this.#remove(join(directory, hidden))
  }

  /** Removes what lower layers put into a directory and keeps what this layer did. */
  #hideBelow(directory: string): void {
    for (const entry of readdirSync(directory, { withFileTypes: true })) {
      const path = join(directory, entry.name)
      if (!this.#made.has(path)) this.#remove(path)
      else if (entry.isDirectory()) this.#hideBelow(path)
    }
  }

  #remove(path: string): void {
    if (dirname(path) === path || !path.startsWith(`${this.#root}/`))
      throw imageInvalid('an entry names the root', { path })
    const status = lstatSync(path, { throwIfNoEntry: false })
    if (status === undefined) return
    if (status.isDirectory()) rmSync(path, { recursive: true })
    else unlinkSync(path)
    if (status.isDirectory() || status.isSymbolicLink()) this.#directories.forget()
  }
}
