import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { git } from './git-process.ts'

/** Where rules about what is ignored are kept as files, since git reads them from a directory alone. */
export class IgnoreRules {
  readonly #repository: string
  readonly #directory: string

  /** `directory` is this object's own, with nothing else in it. */
  constructor(repository: string, directory: string) {
    this.#repository = repository
    this.#directory = directory
  }

  /** Replaces all rules: the `.gitignore` files by their paths, as `treePath` gives them. */
  async keep(rules: ReadonlyMap<string, Uint8Array>): Promise<void> {
    await rm(this.#directory, { recursive: true, force: true })
    await mkdir(this.#directory, { recursive: true })
    for (const [path, content] of rules) {
      // SAFETY: the path was checked to be relative and without `..`, and nothing but these files was ever made below.
      const file = join(this.#directory, path)
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, content)
    }
  }

  /** Those of the paths that are ignored, whether or not a commit has them. */
  async ignored(paths: Iterable<string>): Promise<Set<string>> {
    // git takes a path that begins with a colon for a pattern, which it refuses.
    const input = [Buffer.from(Array.from(paths, (path) => `./${path}\0`).join(''))]
    const asked = input[0]?.length ?? 0
    if (asked === 0) return new Set()
    const options = { directory: this.#repository, workTree: this.#directory, input, accept: [0, 1] }
    // What is ignored is a part of what was asked.
    const ignored = await git(['check-ignore', '--no-index', '-z', '--stdin'], { ...options, mostBytes: asked + 1 })
    const found = ignored.toString().split('\0')
    return new Set(found.filter((path) => path !== '').map((path) => path.slice('./'.length)))
  }
}
