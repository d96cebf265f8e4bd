import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readOutcomes, type FileOutcome } from './test-totals.ts'

export interface VitestRun {
  readonly code: number
  readonly outcomes: readonly FileOutcome[]
  /** What no test had caught; 1 when the run died without saying. */
  readonly unhandledErrors: number
}

/** Runs vitest with these arguments; its report goes into `folder`. */
export async function runVitest(folder: string, args: readonly string[]): Promise<VitestRun> {
  const report = join(folder, 'report.json')
  const errors = join(folder, 'unhandled-errors')
  const code = await spawnVitest(report, errors, args)
  const [text, unhandled] = await Promise.all([read(report), read(errors)])
  return {
    code,
    outcomes: text === null ? [] : readOutcomes(text),
    unhandledErrors: unhandled === null ? 1 : Number(unhandled),
  }
}

async function spawnVitest(report: string, errors: string, args: readonly string[]): Promise<number> {
  const root = join(import.meta.dirname, '..')
  const reporters = ['default', 'json', join(import.meta.dirname, 'unhandled-errors.ts')].map(
    (name) => `--reporter=${name}`,
  )
  const child = spawn(
    process.execPath,
    [join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...reporters, `--outputFile.json=${report}`, ...args],
    { cwd: root, stdio: 'inherit', env: { ...process.env, HEARTH_UNHANDLED_ERRORS: errors } },
  )
  // An interrupt from the terminal reaches vitest by itself; the totals of what ran are still printed.
  const ignore = (): void => undefined
  const pass = (): void => void child.kill('SIGTERM')
  process.on('SIGINT', ignore).on('SIGTERM', pass)
  try {
    return await new Promise((resolve, reject) => {
      child.on('error', reject)
      child.on('exit', (code) => resolve(code ?? 1))
    })
  } finally {
    process.off('SIGINT', ignore).off('SIGTERM', pass)
  }
}

async function read(path: string): Promise<string | null> {
  return await readFile(path, 'utf8').catch(() => null)
}
