import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setup } from './setup/setup.ts'
import { readTotals, totalsLine, type Totals } from './test-totals.ts'

/** Sets up, runs all tests (or those that the arguments name, as vitest takes them) and ends with one line of totals. */
export async function runTests(args: readonly string[]): Promise<number> {
  await setup({ tests: true, retry: false })
  const folder = await mkdtemp(join(tmpdir(), 'hearth-test-report-'))
  try {
    const report = join(folder, 'report.json')
    const code = await runVitest(report, args)
    const totals = await readReport(report)
    process.stdout.write(`\n${totalsLine(totals)}\n`)
    return code !== 0 || totals.failed > 0 ? code || 1 : 0
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** A run that died without a report is a failure that must show in the totals. */
async function readReport(path: string): Promise<Totals> {
  const text = await readFile(path, 'utf8').catch(() => null)
  return text === null ? { passed: 0, failed: 1, skipped: 0 } : readTotals(text)
}

async function runVitest(report: string, args: readonly string[]): Promise<number> {
  const root = join(import.meta.dirname, '..')
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  const child = spawn(process.execPath, [vitest, 'run', ...reporters, ...args], { cwd: root, stdio: 'inherit' })
  // An interrupt from the terminal reaches vitest by itself; the totals of what ran are still printed.
  process.on('SIGINT', () => {})
  process.on('SIGTERM', () => child.kill('SIGTERM'))
  return await new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', (code) => resolve(code ?? 1))
  })
}
