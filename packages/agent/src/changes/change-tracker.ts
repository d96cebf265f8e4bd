import { randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BOUNDS, HearthError, type Sandbox } from '@hearth/contract'
import { commitCommands, ensureBareRepository, git, IgnoreRules, treePath, type TreeEntry } from '@hearth/engine/git'
import { changesBetween, type Changes } from './changes.ts'
import { ARCHIVE_LIMITS, TreeImport, TreeTooLarge, type ArchiveLimits, type TreeLimits } from './tree-import.ts'

export interface ChangeLimits {
  /** Files of the working directory that are not ignored. Default 200,000. */
  readonly entries?: number
  /** Their content. Default 1 GiB. */
  readonly bytes?: number
  /** Of all that is there, also what is ignored. */
  readonly archive?: Partial<ArchiveLimits>
}

/** A directory with more than this is read for its names first, so that nothing is taken in which is ignored. */
const AT_ONCE: TreeLimits = { entries: 20_000, bytes: 128 * 1024 * 1024 }

type Archive = () => AsyncIterable<Uint8Array>

/**
 * Knows what a working directory was, and so what changed in it. The knowledge is a git repository on the host: whatever runs in the
 * sandbox can change the working directory, but not what it is compared with, nor which files are ignored.
 */
export class ChangeTracker implements AsyncDisposable {
  readonly #directory: string
  /** Its directory goes when it is disposed of. */
  readonly temporary: boolean
  readonly #rules: IgnoreRules
  readonly #limits: TreeLimits
  readonly #archive: ArchiveLimits
  /** Up to this it is taken in without looking first; null: it is always looked first. */
  #atOnce: TreeLimits | null

  private constructor(directory: string, temporary: boolean, limits: ChangeLimits) {
    this.#directory = directory
    this.temporary = temporary
    this.#rules = new IgnoreRules(directory, join(directory, 'hearth-ignore'))
    const { entries = BOUNDS.agentFiles, bytes = BOUNDS.agentFileBytes, archive } = limits
    this.#limits = { entries, bytes }
    this.#archive = { ...ARCHIVE_LIMITS, ...archive }
    this.#atOnce = { entries: Math.min(AT_ONCE.entries, entries), bytes: Math.min(AT_ONCE.bytes, bytes) }
  }

  /** In a directory that is kept, so that a run can be taken up by another process; without one, in a temporary one. */
  static async open(directory: string | null, limits: ChangeLimits = {}): Promise<ChangeTracker> {
    const place = directory ?? (await mkdtemp(join(tmpdir(), 'hearth-agent-')))
    await ensureBareRepository(place)
    return new ChangeTracker(place, directory === null, limits)
  }

  get directory(): string {
    return this.#directory
  }

  /** Takes the working directory as what changes are counted from. Returns the commit. */
  async begin(sandbox: Sandbox, workdir: string): Promise<string> {
    // The rules of the base alone count: what is made later cannot hide itself.
    return await this.#import(
      () => sandbox.files.archive(workdir),
      async (tree) => await this.#keepRules(tree),
    )
  }

  /** Throws when changes cannot be counted from this commit, for example because the directory is another machine's. */
  async requireBase(commit: string): Promise<void> {
    await git(['cat-file', '-e', `${commit}^{commit}`], {
      directory: this.#directory,
      failure: () =>
        new HearthError('invalid_state', 'what the working directory was at the beginning is not known here', {
          suggestion: 'Go on with the run on the machine where it was begun, or stop it.',
        }),
    })
  }

  /** The working directory as it is now, of this sandbox or of another, as a commit. */
  async take(sandbox: Sandbox, workdir: string): Promise<string> {
    const present = await sandbox.files.exists(workdir)
    return await this.#import(() => (present ? sandbox.files.archive(workdir) : emptyArchive()))
  }

  /** What is different in the working directory now. */
  async changes(base: string, sandbox: Sandbox, workdir: string): Promise<Changes> {
    return await changesBetween(this.#directory, base, await this.take(sandbox, workdir))
  }

  async #import(archive: Archive, read?: (tree: TreeImport) => Promise<void>): Promise<string> {
    if (this.#atOnce !== null) {
      try {
        return await this.#importAll(archive(), this.#atOnce, new Set(), read)
      } catch (error) {
        if (!(error instanceof TreeTooLarge)) throw error
      }
    }
    const names = new TreeImport(this.#archive)
    const found = await names.names(archive())
    await read?.(names)
    const leftOut = await this.#leftOut(found)
    // Where little is ignored, looking first would only cost time.
    this.#atOnce = this.#atOnce !== this.#limits && leftOut.size * 2 < found.size ? this.#limits : null
    return await this.#importAll(archive(), this.#limits, leftOut)
  }

  /** Several may run at once: each has a branch of its own while it lasts. */
  async #importAll(
    archive: AsyncIterable<Uint8Array>,
    limits: TreeLimits,
    leftOut: ReadonlySet<string>,
    read?: (tree: TreeImport) => Promise<void>,
  ): Promise<string> {
    const branch = `import-${randomUUID()}`
    const tree = new TreeImport(this.#archive)
    const input = async function* (this: ChangeTracker): AsyncGenerator<Uint8Array, void> {
      yield* tree.blobs(archive, limits, leftOut)
      await read?.(tree)
      yield commitCommands({ branch, base: null, entries: await this.#unignored(tree.entries) })
    }
    const options = { directory: this.#directory, input: input.call(this) }
    const commit = await git(['fast-import', '--quiet', '--done'], options)
    return commit.toString().trim()
  }

  async #keepRules({ ignoreRules, tracked }: TreeImport): Promise<void> {
    await this.#rules.keep(ignoreRules)
    // The index is the sandbox's: git refuses to be asked about what leads elsewhere.
    const named = tracked.filter((path) => treePath(path) === path)
    const both = Array.from(await this.#rules.ignored(named))
    await writeFile(this.#trackedFile, both.join('\0'))
  }

  /** What is ignored by name and was not tracked in spite of it. */
  async #leftOut(paths: Iterable<string>): Promise<Set<string>> {
    const ignored = await this.#rules.ignored(paths)
    if (ignored.size === 0) return ignored
    for (const path of await this.#tracked()) ignored.delete(path)
    return ignored
  }

  get #trackedFile(): string {
    return join(this.#directory, 'hearth-tracked')
  }

  async #tracked(): Promise<Set<string>> {
    try {
      return new Set((await readFile(this.#trackedFile, 'utf8')).split('\0'))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return new Set()
      throw error
    }
  }

  async #unignored(entries: ReadonlyMap<string, TreeEntry>): Promise<TreeEntry[]> {
    const leftOut = await this.#leftOut(entries.keys())
    return Array.from(entries.values()).filter(({ path }) => !leftOut.has(path))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.temporary) await rm(this.#directory, { recursive: true, force: true })
  }
}

async function* emptyArchive(): AsyncGenerator<Uint8Array, void> {
  yield await Promise.resolve(Buffer.alloc(1024))
}
