import { readFileSync, renameSync, writeFileSync } from 'node:fs'

/** What a file in the directory of a sandbox says; null when there is none, or when a crash has damaged it. */
export function readKept(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || error instanceof SyntaxError) return null
    throw error
  }
}

/** In one step: microseconds, and less than the way through the thread pool. */
export function writeKept(path: string, value: unknown): void {
  writeFileSync(`${path}.new`, JSON.stringify(value), { mode: 0o600 })
  renameSync(`${path}.new`, path)
}

/** The same, while the sandbox is there: of one that is gone nothing is written any more. */
export function writeKeptOfLiving(path: string, value: unknown): void {
  try {
    writeKept(path, value)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}
