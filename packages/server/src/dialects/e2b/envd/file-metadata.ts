import type { IncomingHttpHeaders } from 'node:http'
import { HearthError, type FileInfo, type Sandbox } from '@hearth/contract'
import { z } from 'zod'
import type { NoteRepository } from '../../../state/index.ts'
import { PerSandbox } from '../per-sandbox.ts'

const KIND = 'e2b.file'
const PREFIX = 'x-metadata-'
/** As envd has them. */
const LONGEST_KEY = 246
const MOST_BYTES = 4096
/** Of one sandbox. */
const MOST_FILES = 1000

export type Metadata = Readonly<Record<string, string>>

/** What was said about a file, and which file that was: one that has changed since is another. */
const noteSchema = z.object({ metadata: z.record(z.string(), z.string()), size: z.number(), modifiedAt: z.number() })
type Noted = z.output<typeof noteSchema>

interface Known {
  readonly files: Map<string, Noted>
  read: Promise<void> | null
}

/** The metadata that clients give to files. The sandbox knows nothing of it: it is told to E2B's clients alone. */
export class FileMetadata {
  readonly #notes: NoteRepository
  readonly #sandboxes = new PerSandbox((): Known => ({ files: new Map(), read: null }))

  constructor(notes: NoteRepository) {
    this.#notes = notes
  }

  async find(sandbox: Sandbox, { path, size, modifiedAt }: FileInfo): Promise<Metadata> {
    const noted = (await this.#of(sandbox)).get(path)
    return noted?.size === size && noted.modifiedAt === modifiedAt.getTime() ? noted.metadata : {}
  }

  /** Before a file is written. */
  async requireRoom(sandbox: Sandbox, path: string): Promise<void> {
    const files = await this.#of(sandbox)
    if (files.has(path) || files.size < MOST_FILES) return
    throw new HearthError('too_many', `at most ${MOST_FILES} files of a sandbox have metadata`)
  }

  /** Of the file as it is now, in place of what it had. */
  async set(sandbox: Sandbox, path: string, metadata: Metadata): Promise<void> {
    const files = await this.#of(sandbox)
    if (Object.keys(metadata).length === 0) return await this.#drop(sandbox, files, path)
    const { size, modifiedAt } = await sandbox.files.stat(path)
    await this.#put(sandbox, files, path, { metadata, size, modifiedAt: modifiedAt.getTime() })
  }

  /** All that was said about a file, or about those in a directory, goes with it. */
  async move(sandbox: Sandbox, from: string, to: string): Promise<void> {
    const files = await this.#of(sandbox)
    for (const [path, noted] of within(files, from)) {
      await this.#drop(sandbox, files, path)
      await this.#put(sandbox, files, `${to}${path.slice(from.length)}`, noted)
    }
  }

  async remove(sandbox: Sandbox, path: string): Promise<void> {
    const files = await this.#of(sandbox)
    for (const [known] of within(files, path)) await this.#drop(sandbox, files, known)
  }

  forget(id: string): void {
    this.#sandboxes.forget(id)
  }

  async #put(sandbox: Sandbox, files: Map<string, Noted>, path: string, noted: Noted): Promise<void> {
    await this.#notes.put(sandbox.id, KIND, path, noted, MOST_FILES)
    files.set(path, noted)
  }

  async #drop(sandbox: Sandbox, files: Map<string, Noted>, path: string): Promise<void> {
    if (files.delete(path)) await this.#notes.remove(sandbox.id, KIND, path)
  }

  async #of(sandbox: Sandbox): Promise<Map<string, Noted>> {
    const known = this.#sandboxes.of(sandbox)
    known.read ??= this.#read(sandbox, known.files).catch((error: unknown) => {
      known.read = null
      throw error
    })
    await known.read
    return known.files
  }

  async #read(sandbox: Sandbox, files: Map<string, Noted>): Promise<void> {
    for (const { key, value } of await this.#notes.list(sandbox.id, KIND)) {
      const noted = noteSchema.safeParse(value).data
      if (noted !== undefined) files.set(key, noted)
    }
  }
}

/** Those at a path or below it, as they are now. */
function within(files: ReadonlyMap<string, Noted>, place: string): (readonly [string, Noted])[] {
  return [...files].filter(([path]) => path === place || path.startsWith(`${place}/`))
}

/** What the headers of an upload say about its files. Names of headers have no capitals. */
export function metadataOf(headers: IncomingHttpHeaders): Metadata {
  const given = Object.entries(headers).filter(([name]) => name.startsWith(PREFIX))
  const metadata = Object.fromEntries(given.map(([name, value]) => [name.slice(PREFIX.length), String(value)]))
  const bytes = Object.entries(metadata).reduce((sum, [key, value]) => sum + key.length + value.length, 0)
  const isFine = Object.entries(metadata).every(
    ([key, value]) => key !== '' && key.length <= LONGEST_KEY && /^[\x20-\x7e]*$/.test(value),
  )
  if (isFine && bytes <= MOST_BYTES) return metadata
  const bounds = `keys of up to ${LONGEST_KEY} characters, values of printable ASCII, and ${MOST_BYTES} bytes together`
  throw new HearthError('invalid_request', `metadata: must have ${bounds}`)
}
