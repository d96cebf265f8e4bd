import {
  type Content,
  type FileInfo,
  type Files,
  guestPathSchema,
  HearthError,
  parseInput,
  type ReadOptions,
  userSchema,
  type WriteOptions,
} from '@hearth/contract'
import type { Link } from '../link/link.ts'
import type { Messages } from '../link/messages.gen.ts'
import { upload } from '../link/upload.ts'
import { checkedInteger } from './checks.ts'
import { downloadBytes, downloadStream } from './file-download.ts'
import { fileInfo } from './file-info.ts'
import { listFiles } from './file-list.ts'

const DEFAULT_MODE = 0xffff_ffff
const TO_THE_END = 2n ** 64n - 1n
const FLAGS = {
  stat: { noFollow: 1 },
  write: { parents: 1, append: 2, exclusive: 4 },
  makeDirectory: { parents: 1 },
  remove: { recursive: 1, force: 2 },
} as const

const HIGHEST_MODE = 0o7777
const DEEPEST = 1024
const TARGET_CHARACTERS = 4095

/** Files of a machine over its link. Arguments are checked here; the guest resolves paths, inside the sandbox alone. */
export class LinkFiles implements Files {
  readonly #link: Link

  constructor(link: Link) {
    this.#link = link
  }

  async read(path: string, options: ReadOptions = {}): Promise<Uint8Array> {
    return await downloadBytes(this.#link, readMessage(path, options), options.signal)
  }

  async readText(path: string, options: ReadOptions = {}): Promise<string> {
    return await this.read(path, options).then(decodeText)
  }

  readStream(path: string, options: ReadOptions = {}): AsyncIterable<Uint8Array> {
    return downloadStream(this.#link, { name: 'Read', message: readMessage(path, options) }, options.signal)
  }

  async write(path: string, content: Content, options: WriteOptions = {}): Promise<FileInfo> {
    const message = {
      path: checkedPath(path),
      mode: checkedMode(options.mode),
      user: checkedUser(options.user),
      flags:
        flag(options.parents ?? true, FLAGS.write.parents) |
        flag(options.append, FLAGS.write.append) |
        flag(options.exclusive, FLAGS.write.exclusive),
    }
    const bytes = typeof content === 'string' ? Buffer.from(content) : content
    return await upload(this.#link, 'Write', message, bytes, fileInfo, { signal: options.signal })
  }

  async stat(path: string, options: { readonly followSymlinks?: boolean } = {}): Promise<FileInfo> {
    const flags = flag(options.followSymlinks === false, FLAGS.stat.noFollow)
    return await this.#link.ask('Stat', { path: checkedPath(path), flags }, fileInfo)
  }

  async exists(path: string): Promise<boolean> {
    try {
      await this.stat(path)
      return true
    } catch (error) {
      if (HearthError.isInstance(error) && (error.code === 'file_not_found' || error.code === 'not_a_directory'))
        return false
      throw error
    }
  }

  async list(path: string, options: { readonly depth?: number } = {}): Promise<FileInfo[]> {
    return await listFiles(this.#link, checkedPath(path), checkedInteger(options.depth ?? 1, 1, DEEPEST, 'depth'))
  }

  async makeDirectory(
    path: string,
    options: { readonly parents?: boolean; readonly mode?: number; readonly user?: string } = {},
  ): Promise<void> {
    await this.#link.request('MakeDirectory', {
      path: checkedPath(path),
      mode: checkedMode(options.mode),
      user: checkedUser(options.user),
      flags: flag(options.parents, FLAGS.makeDirectory.parents),
    })
  }

  async rename(from: string, to: string): Promise<void> {
    await this.#link.request('Rename', { path: checkedPath(from), to: checkedPath(to) })
  }

  async remove(path: string, options: { readonly recursive?: boolean; readonly force?: boolean } = {}): Promise<void> {
    const flags = flag(options.recursive, FLAGS.remove.recursive) | flag(options.force, FLAGS.remove.force)
    await this.#link.request('Remove', { path: checkedPath(path), flags })
  }

  async symlink(target: string, path: string): Promise<void> {
    await this.#link.request('Symlink', { path: checkedPath(path), target: checkedTarget(target) })
  }

  async chmod(path: string, mode: number): Promise<void> {
    await this.#link.request('ChangeMode', {
      path: checkedPath(path),
      mode: checkedInteger(mode, 0, HIGHEST_MODE, 'mode'),
    })
  }

  archive(path: string, options: { readonly signal?: AbortSignal } = {}): AsyncIterable<Uint8Array> {
    return downloadStream(this.#link, { name: 'CreateTar', message: { path: checkedPath(path) } }, options.signal)
  }

  async extract(
    path: string,
    archive: Uint8Array | AsyncIterable<Uint8Array>,
    options: { readonly signal?: AbortSignal; readonly user?: string } = {},
  ): Promise<void> {
    const message = { path: checkedPath(path), user: checkedUser(options.user) }
    await upload(this.#link, 'ExtractTar', message, archive, () => undefined, { signal: options.signal })
  }
}

/** A symlink may point anywhere, also to a relative path. */
function checkedTarget(target: string): string {
  if (target !== '' && target.length <= TARGET_CHARACTERS && !target.includes('\0')) return target
  throw new HearthError('invalid_request', `target: must have 1 to ${TARGET_CHARACTERS} characters and no NUL`)
}

function decodeText(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8')
}

function readMessage(path: string, options: ReadOptions): Messages['Read'] {
  return {
    path: checkedPath(path),
    offset: BigInt(checkedInteger(options.offset ?? 0, 0, Number.MAX_SAFE_INTEGER, 'offset')),
    length:
      options.length === undefined
        ? TO_THE_END
        : BigInt(checkedInteger(options.length, 0, Number.MAX_SAFE_INTEGER, 'length')),
  }
}

function checkedPath(path: string): string {
  return parseInput(guestPathSchema, path, 'path')
}

function checkedMode(mode: number | undefined): number {
  return mode === undefined ? DEFAULT_MODE : checkedInteger(mode, 0, HIGHEST_MODE, 'mode')
}

function checkedUser(user: string | undefined): string {
  return user === undefined ? '' : parseInput(userSchema, user, 'user')
}

function flag(condition: boolean | undefined, bit: number): number {
  return condition === true ? bit : 0
}
