import { mkdtemp, mkdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { setup } from './setup/setup.ts'
import { sumOf, totalsLine, type FileOutcome } from './test-totals.ts'
import { runVitest, type VitestRun } from './vitest-run.ts'

const ROOT = join(import.meta.dirname, '..')
/** More files than these are no matter of a busy machine. */
const MOST_AGAIN = 8

/**
 * Sets up, runs all tests (or those that the arguments name, as vitest takes them) and ends with one line of totals. Sandboxes are real and
 * several files run at a time, so what fails is run again alone; what passes then is counted as passed, and named.
 */
export async function runTests(args: readonly string[]): Promise<number> {
  await setup({ tests: true, retry: false })
  const folder = await mkdtemp(join(tmpdir(), 'hearth-test-report-'))
  try {
    const first = await runVitest(folder, args)
    const { outcomes, unsteady } = await runAgain(first, folder)
    for (const name of unsteady) process.stdout.write(`\nfailed beside others, passed alone: ${name}`)
    const sum = sumOf(outcomes)
    // What no test has caught, and a run that died without a report, are failures that must show in the totals.
    const totals = { ...sum, failed: sum.failed + first.unhandledErrors }
    process.stdout.write(`\n${totalsLine(totals)}\n`)
    if (totals.failed > 0) return 1
    return unsteady.length > 0 ? 0 : first.code
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

interface Settled {
  readonly outcomes: readonly FileOutcome[]
  readonly unsteady: readonly string[]
}

async function runAgain({ outcomes }: VitestRun, folder: string): Promise<Settled> {
  const failed = outcomes.filter((outcome) => outcome.failed > 0)
  if (failed.length === 0 || failed.length > MOST_AGAIN) return { outcomes, unsteady: [] }
  process.stdout.write(`\nrunning ${failed.length} files with failures again, one at a time\n`)
  const report = join(folder, 'again')
  await mkdir(report)
  const again = await runVitest(report, [...failed.map(({ name }) => name), '--no-file-parallelism'])
  const second = new Map(again.outcomes.map((outcome) => [outcome.name, outcome]))
  const settled = again.unhandledErrors === 0
  const passes = ({ name }: FileOutcome): boolean => settled && second.get(name)?.failed === 0
  return {
    outcomes: outcomes.map((outcome) =>
      outcome.failed > 0 && passes(outcome) ? (second.get(outcome.name) ?? outcome) : outcome,
    ),
    unsteady: failed
      .filter(passes)
      .flatMap(({ name, failures }) =>
        (failures.length > 0 ? failures : ['all of it']).map((failure) => `${relative(ROOT, name)}: ${failure}`),
      ),
  }
}
