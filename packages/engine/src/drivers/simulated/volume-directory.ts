import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  ftruncateSync,
  futimesSync,
  lchownSync,
  linkSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import type { AttachedVolume } from '../driver.ts'
import { TEMPLATE_USER } from '../../templates/base-files.ts'
import { isTreeErrorCode, TreeError, type Entries, type TreeNode } from './tree-node.ts'

const { O_APPEND, O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants

/** A volume as the shell has it. */
export interface MountedVolume extends Pick<AttachedVolume, 'files' | 'readOnly'> {
  /** More of one file is not read into this process. */
  readonly mostBytes: number
}

/**
 * A directory of a volume on the host. Nothing of it is kept here: each call looks at the disk. SAFETY: what is in there may be hostile, and may
 * change meanwhile: each step of a path is opened by its own name from what was opened before, without following a link.
 */
export class VolumeDirectory implements Entries {
  readonly volume: MountedVolume
  readonly #path: readonly string[]

  constructor(volume: MountedVolume, path: readonly string[] = []) {
    this.volume = volume
    this.#path = path
  }

  get size(): number {
    return this.#names().length
  }

  get(name: string): TreeNode | undefined {
    try {
      return this.#in(name, (place) => this.#node(name, place))
    } catch (error) {
      if (error instanceof TreeError && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return undefined
      throw error
    }
  }

  keys(): string[] {
    return [...this].map(([name]) => name)
  }

  values(): TreeNode[] {
    return [...this].map(([, node]) => node)
  }

  *[Symbol.iterator](): Generator<[string, TreeNode]> {
    for (const name of this.#names()) {
      const node = this.get(name)
      // Gone since, or called by bytes that are no text.
      if (node !== undefined) yield [name, node]
    }
  }

  read(name: string): Uint8Array {
    return this.#file(name, O_RDONLY, (file) => {
      const { size } = fstatSync(file)
      if (size > this.volume.mostBytes) throw new TreeError('EFBIG', 'read', name)
      const bytes = new Uint8Array(size)
      let length = 0
      for (let count = 1; count > 0 && length < size; length += count)
        count = readSync(file, bytes, length, size - length, null)
      return bytes.subarray(0, length)
    })
  }

  write(name: string, bytes: Uint8Array, mode: number | undefined): void {
    this.#file(name, O_WRONLY, (file) => {
      ftruncateSync(file)
      writeAll(file, bytes)
      if (mode !== undefined) fchmodSync(file, mode)
    })
  }

  append(name: string, bytes: Uint8Array): void {
    this.#file(name, O_WRONLY | O_APPEND, (file) => writeAll(file, bytes))
  }

  makeFile(name: string, mode: number): void {
    this.#change(name, (place) => {
      const file = openSync(place, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode)
      try {
        // Not by the call that makes it, which heeds the umask.
        fchmodSync(file, mode)
        if (isRoot) fchownSync(file, TEMPLATE_USER.id, TEMPLATE_USER.id)
      } finally {
        closeSync(file)
      }
    })
  }

  makeDirectory(name: string, mode: number): void {
    this.#change(name, (place) => {
      mkdirSync(place, mode)
      this.#own(place)
    })
    this.setMode(name, mode)
  }

  symlink(target: string, name: string): void {
    this.#change(name, (place) => {
      symlinkSync(target, place)
      this.#own(place)
    })
  }

  /** A second name for a file of the same volume. */
  link(existing: string, directory: VolumeDirectory, name: string): void {
    this.#change(existing, (from) => directory.#change(name, (to) => linkSync(from, to)))
  }

  remove(name: string, recursive: boolean): void {
    this.#change(name, (place) => {
      const isDirectory = lstatSync(place).isDirectory()
      // It follows no link; where a directory is swapped for one meanwhile, what the link leads to is not below this place.
      if (isDirectory && recursive) return rmSync(place, { recursive: true })
      return isDirectory ? rmdirSync(place) : unlinkSync(place)
    })
  }

  rename(name: string, directory: VolumeDirectory, other: string): void {
    this.#change(name, (from) => directory.#change(other, (to) => renameSync(from, to)))
  }

  setMode(name: string, mode: number): void {
    this.#opened(name, (descriptor) => fchmodSync(descriptor, mode))
  }

  setModified(name: string, modifiedMs: number): void {
    this.#change(name, (place) => lutimesSync(place, modifiedMs / 1000, modifiedMs / 1000))
  }

  /** Of the volume's top, which has no name. */
  setOwn(what: { readonly mode: number } | { readonly modifiedMs: number }): void {
    this.#within((path) => {
      const descriptor = openSync(path, O_RDONLY | O_DIRECTORY)
      try {
        if ('mode' in what) fchmodSync(descriptor, what.mode)
        else futimesSync(descriptor, what.modifiedMs / 1000, what.modifiedMs / 1000)
      } finally {
        closeSync(descriptor)
      }
    }, '.')
  }

  status(): { readonly mode: number; readonly modifiedMs: number; readonly id: number } {
    const { mode, mtimeMs, ino } = this.#within((path) => lstatSync(`${path}/.`), '.')
    return { mode: mode & 0o7777, modifiedMs: mtimeMs, id: ino }
  }

  #node(name: string, place: string): TreeNode {
    const status = lstatSync(place)
    const base = { id: status.ino, mode: status.mode & 0o7777, modifiedMs: status.mtimeMs }
    if (status.isDirectory()) {
      const directory = new VolumeDirectory(this.volume, [...this.#path, name])
      return { ...base, kind: 'directory', volume: directory, entries: directory }
    }
    if (status.isSymbolicLink()) return { ...base, kind: 'symlink', target: readlinkSync(place) }
    if (!status.isFile()) return { ...base, kind: 'sink' }
    const read = (): Uint8Array => this.read(name)
    return {
      ...base,
      kind: 'file',
      length: status.size,
      links: status.nlink,
      get buffer() {
        return read()
      },
    }
  }

  #names(): string[] {
    return this.#within((path) => readdirSync(path), '.')
  }

  #file<Value>(name: string, flags: number, work: (file: number) => Value): Value {
    const writes = flags !== O_RDONLY
    const open = (place: string): Value => {
      const file = openSync(place, flags | O_NOFOLLOW | O_NONBLOCK)
      try {
        if (!fstatSync(file).isFile()) throw new TreeError('EINVAL', 'open', name)
        return work(file)
      } finally {
        closeSync(file)
      }
    }
    return writes ? this.#change(name, open) : this.#in(name, open)
  }

  #opened(name: string, work: (descriptor: number) => void): void {
    this.#change(name, (place) => {
      const descriptor = openSync(place, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
      try {
        work(descriptor)
      } finally {
        closeSync(descriptor)
      }
    })
  }

  #own(place: string): void {
    if (isRoot) lchownSync(place, TEMPLATE_USER.id, TEMPLATE_USER.id)
  }

  #change<Value>(name: string, work: (place: string) => Value): Value {
    if (this.volume.readOnly) throw new TreeError('EROFS', 'open', name)
    return this.#in(name, work)
  }

  #in<Value>(name: string, work: (place: string) => Value): Value {
    return this.#within((path) => work(`${path}/${name}`), name)
  }

  /** The directory itself, held open: whatever becomes of its name, this one is meant. */
  #within<Value>(work: (path: string) => Value, name: string): Value {
    let descriptor = -1
    const step = (path: string): void => {
      const next = openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
      if (descriptor >= 0) closeSync(descriptor)
      descriptor = next
    }
    try {
      step(this.volume.files)
      for (const part of this.#path) step(`/proc/self/fd/${descriptor}/${part}`)
      return work(`/proc/self/fd/${descriptor}`)
    } catch (error) {
      throw asTreeError(error, name)
    } finally {
      if (descriptor >= 0) closeSync(descriptor)
    }
  }
}

/** Node has no name for it. */
const EDQUOT = -122
const isRoot = process.getuid?.() === 0

function writeAll(file: number, bytes: Uint8Array): void {
  for (let written = 0; written < bytes.length;) written += writeSync(file, bytes, written)
}

function asTreeError(error: unknown, name: string): unknown {
  if (error instanceof TreeError || !(error instanceof Error) || !('code' in error)) return error
  const { code, errno } = error as NodeJS.ErrnoException
  if (errno === EDQUOT) return new TreeError('ENOSPC', 'write', name)
  return new TreeError(isTreeErrorCode(code) ? code : 'EIO', 'open', name)
}
