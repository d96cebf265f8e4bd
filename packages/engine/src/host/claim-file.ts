import { randomBytes } from 'node:crypto'
import { linkSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Something that one holder at a time has, between processes, and that a crash cannot leave taken for ever.
 *
 * The claim NAME is the file NAME.N with the highest N, which names its holder or nothing when it was released. Whoever finds the
 * holder gone makes NAME.N+1, which only one can do. The highest file is never removed, so the numbers only grow, and a taker
 * that was late finds a higher number than its own and gives way.
 */
export class ClaimFile {
  readonly #path: string

  private constructor(path: string) {
    this.#path = path
  }

  /** Null when another one has it who lives, or was faster. */
  static async take(
    directory: string,
    name: string,
    holder: string,
    lives: (holder: string) => Promise<boolean>,
  ): Promise<ClaimFile | null> {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    const current = highest(directory, name)
    const before = current === 0 ? '' : contentOf(pathOf(directory, name, current))
    if (before !== '' && (await lives(before))) return null
    const mine = pathOf(directory, name, current + 1)
    if (!createWhole(mine, holder)) return null
    if (highest(directory, name) !== current + 1) {
      rmSync(mine, { force: true })
      return null
    }
    for (const generation of generations(directory, name)) {
      if (generation <= current) rmSync(pathOf(directory, name, generation), { force: true })
    }
    return new ClaimFile(mine)
  }

  /** Whoever took it last and has not released it, alive or not. */
  static holder(directory: string, name: string): string | null {
    const current = highest(directory, name)
    return current === 0 ? null : contentOf(pathOf(directory, name, current)) || null
  }

  release(): void {
    const released = temporary(this.#path)
    writeFileSync(released, '', { mode: 0o600 })
    renameSync(released, this.#path)
  }
}

function pathOf(directory: string, name: string, generation: number): string {
  return join(directory, `${name}.${generation}`)
}

/** The file appears with its content or not at all. False when it exists. */
function createWhole(path: string, content: string): boolean {
  const draft = temporary(path)
  writeFileSync(draft, content, { mode: 0o600 })
  try {
    linkSync(draft, path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    rmSync(draft, { force: true })
  }
}

function temporary(path: string): string {
  return `${path}-${randomBytes(6).toString('hex')}.tmp`
}

/** Empty for one that a faster taker has removed: the highest is another by now. */
function contentOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
}

function generations(directory: string, name: string): number[] {
  let entries: string[]
  try {
    entries = readdirSync(directory)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
  return entries
    .filter((entry) => entry.startsWith(`${name}.`) && /^\d+$/.test(entry.slice(name.length + 1)))
    .map((entry) => Number(entry.slice(name.length + 1)))
}

function highest(directory: string, name: string): number {
  return Math.max(0, ...generations(directory, name))
}
