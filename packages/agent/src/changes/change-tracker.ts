import { randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { HearthError, type Sandbox } from '@hearth/contract'
import { readChanges, type Changes } from './changes.ts'
import { git } from './git.ts'
import { commitCommands, TreeImport, type TreeEntry } from './tree-import.ts'

export interface ChangeLimits {
  /** Files of the working directory. Default 200,000. */
  readonly entries?: number
  /** Their content. Default 1 GiB. */
  readonly bytes?: number
}

/** What programs leave behind by running, and nobody means to change. */
const LEAVINGS = ['__pycache__/', '*.pyc', '.pytest_cache/', '.mypy_cache/', 'node_modules/'] as const

const DEFAULTS = { entries: 200_000, bytes: 1024 * 1024 * 1024 } as const

/**
 * Knows what a working directory was, and so what changed in it. The knowledge is a git repository on the host: whatever runs in the
 * sandbox can change the working directory, but not what it is compared with, nor which files are ignored.
 */
export class ChangeTracker implements AsyncDisposable {
  readonly #directory: string
  readonly #temporary: boolean
  readonly #limits: Required<ChangeLimits>

  private constructor(directory: string, temporary: boolean, limits: ChangeLimits) {
    this.#directory = directory
    this.#temporary = temporary
    this.#limits = { ...DEFAULTS, ...limits }
  }

  /** In a directory that is kept, so that a run can be taken up by another process; without one, in a temporary one. */
  static async open(directory: string | null, limits: ChangeLimits = {}): Promise<ChangeTracker> {
    const place = directory ?? (await mkdtemp(join(tmpdir(), 'hearth-agent-')))
    await mkdir(place, { recursive: true, mode: 0o700 })
    if ((await stat(join(place, 'HEAD')).catch(nullIfMissing)) === null) {
      await git(['init', '--bare', '--quiet', '--template='], { directory: place })
      await mkdir(join(place, 'info'), { recursive: true })
      await writeFile(join(place, 'info', 'exclude'), LEAVINGS.map((rule) => `${rule}\n`).join(''))
    }
    return new ChangeTracker(place, directory === null, limits)
  }

  get directory(): string {
    return this.#directory
  }

  /** Takes the working directory as what changes are counted from. Returns the commit. */
  async begin(sandbox: Sandbox, workdir: string): Promise<string> {
    const tree = new TreeImport()
    return await this.#import(tree, sandbox.files.archive(workdir), async () => {
      await this.#keepIgnoreRules(tree.ignoreRules)
    })
  }

  /** What is different in the working directory now. */
  async changes(base: string, sandbox: Sandbox, workdir: string): Promise<Changes> {
    const present = await sandbox.files.exists(workdir)
    const archive = present ? sandbox.files.archive(workdir) : emptyArchive()
    const head = await this.#import(new TreeImport(), archive)
    return await readChanges(this.#directory, base, head)
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
      yield commitCommands(branch, await this.#unignored(tree.entries))
    }
    const options = { directory: this.#directory, input: input.call(this) }
    const commit = await git(['fast-import', '--quiet', '--done'], options)
    return commit.toString().trim()
  }

  get #ignoreDirectory(): string {
    return join(this.#directory, 'hearth-ignore')
  }

  /** The rules of the base alone count: what is made later cannot hide itself. */
  async #keepIgnoreRules(rules: ReadonlyMap<string, Buffer>): Promise<void> {
    await rm(this.#ignoreDirectory, { recursive: true, force: true })
    await mkdir(this.#ignoreDirectory)
    for (const [path, content] of rules) {
      // SAFETY: the path was checked to be relative and without `..`, and nothing but these files was ever made below.
      const file = join(this.#ignoreDirectory, path)
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, content)
    }
  }

  async #unignored(entries: ReadonlyMap<string, TreeEntry>): Promise<TreeEntry[]> {
    if (entries.size === 0) return []
    const input = [Buffer.from(Array.from(entries.keys(), (path) => `${path}\0`).join(''))]
    const options = { directory: this.#directory, workTree: this.#ignoreDirectory, input, accept: [0, 1] }
    const ignored = await git(['check-ignore', '--no-index', '-z', '--stdin'], options)
    const names = new Set(ignored.toString().split('\0'))
    return Array.from(entries.values()).filter(({ path }) => !names.has(path))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#temporary) await rm(this.#directory, { recursive: true, force: true })
  }
}

async function* emptyArchive(): AsyncGenerator<Uint8Array, void> {
  yield await Promise.resolve(Buffer.alloc(1024))
}

function nullIfMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null
  throw new HearthError('internal', `the directory of the run cannot be read: ${error.message}`, { cause: error })
}
