import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Failure } from './apt.ts'

const RETRY_AFTER_MS = 24 * 3_600_000

/** Packages that could not be had lately, so that not every start asks for them again. */
export class Attempts {
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  /** Failures of the last day, by package. A file that cannot be read or understood counts as none. */
  async recent(now = Date.now()): Promise<Map<string, Failure>> {
    const text = await readFile(this.#path, 'utf8').catch(() => '{}')
    const failures = new Map<string, Failure>()
    for (const [name, entry] of Object.entries(parseObject(text))) {
      const { at, reason } = parseEntry(entry)
      if (now - at < RETRY_AFTER_MS) failures.set(name, { package: name, reason })
    }
    return failures
  }

  async remember(failures: readonly Failure[], now = Date.now()): Promise<void> {
    const content = Object.fromEntries(failures.map(({ package: name, reason }) => [name, { at: now, reason }]))
    await mkdir(dirname(this.#path), { recursive: true, mode: 0o700 })
    await writeFile(this.#path, `${JSON.stringify(content, null, 2)}\n`)
  }
}

function parseObject(text: string): object {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : {}
  } catch (error) {
    if (error instanceof SyntaxError) return {}
    throw error
  }
}

function parseEntry(entry: unknown): { at: number; reason: string } {
  if (typeof entry !== 'object' || entry === null) return { at: 0, reason: '' }
  const at = 'at' in entry && typeof entry.at === 'number' ? entry.at : 0
  return { at, reason: 'reason' in entry && typeof entry.reason === 'string' ? entry.reason : '' }
}
