import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Sandbox } from '@hearth/contract'
import { commitCommands, ensureBareRepository, git, IgnoreRules, type TreeEntry } from '@hearth/engine/git'
import { changesBetween, type Changes } from './changes.ts'
import { TreeImport } from './tree-import.ts'

export interface ChangeLimits {
  /** Files of the working directory. Default 200,000. */
  readonly entries?: number
  /** Their content. Default 1 GiB. */
  readonly bytes?: number
}

const DEFAULTS = { entries: 200_000, bytes: 1024 * 1024 * 1024 } as const

/**
 * Knows what a working directory was, and so what changed in it. The knowledge is a git repository on the host: whatever runs in the
 * sandbox can change the working directory, but not what it is compared with, nor which files are ignored.
 */
export class ChangeTracker implements AsyncDisposable {
  readonly #directory: string
  /** Its directory goes when it is disposed of. */
  readonly temporary: boolean
  readonly #rules: IgnoreRules
  readonly #limits: Required<ChangeLimits>

  private constructor(directory: string, temporary: boolean, limits: ChangeLimits) {
    this.#directory = directory
    this.temporary = temporary
    this.#rules = new IgnoreRules(directory, join(directory, 'hearth-ignore'))
    this.#limits = { ...DEFAULTS, ...limits }
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
    const tree = new TreeImport()
    return await this.#import(tree, sandbox.files.archive(workdir), async () => {
      // The rules of the base alone count: what is made later cannot hide itself.
      await this.#rules.keep(tree.ignoreRules)
    })
  }

  /** The working directory as it is now, of this sandbox or of another, as a commit. */
  async take(sandbox: Sandbox, workdir: string): Promise<string> {
    const present = await sandbox.files.exists(workdir)
    return await this.#import(new TreeImport(), present ? sandbox.files.archive(workdir) : emptyArchive())
  }

  /** What is different in the working directory now. */
  async changes(base: string, sandbox: Sandbox, workdir: string): Promise<Changes> {
    return await changesBetween(this.#directory, base, await this.take(sandbox, workdir))
  }

  /** Several may run at once: each has a branch of its own while it lasts. */
  async #import(
    tree: TreeImport,
    archive: AsyncIterable<Uint8Array>,
    read: () => Promise<void> = () => Promise.resolve(),
  ): Promise<string> {
    const branch = `import-${randomUUID()}`
    const input = async function* (this: ChangeTracker): AsyncGenerator<Uint8Array, void> {
      yield* tree.blobs(archive, this.#limits)
      await read()
      yield commitCommands({ branch, base: null, entries: await this.#unignored(tree.entries) })
    }
    const options = { directory: this.#directory, input: input.call(this) }
    const commit = await git(['fast-import', '--quiet', '--done'], options)
    return commit.toString().trim()
  }

  async #unignored(entries: ReadonlyMap<string, TreeEntry>): Promise<TreeEntry[]> {
    const ignored = await this.#rules.ignored(entries.keys())
    return Array.from(entries.values()).filter(({ path }) => !ignored.has(path))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.temporary) await rm(this.#directory, { recursive: true, force: true })
  }
}

async function* emptyArchive(): AsyncGenerator<Uint8Array, void> {
  yield await Promise.resolve(Buffer.alloc(1024))
}
