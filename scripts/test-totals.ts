export interface Totals {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

export interface FileOutcome extends Totals {
  readonly name: string
  /** The tests that failed; empty when the file itself could not be loaded. */
  readonly failures: readonly string[]
}

interface ReportedFile {
  readonly name?: unknown
  readonly status?: unknown
  readonly assertionResults?: unknown
}

/** What a report of vitest's JSON reporter says of each file. One that failed without a failed test (it did not load) counts as one failure. */
export function readOutcomes(report: string): readonly FileOutcome[] {
  const parsed: unknown = JSON.parse(report)
  const files = field(parsed, 'testResults')
  return (Array.isArray(files) ? (files as readonly ReportedFile[]) : []).map(outcomeOf)
}

function outcomeOf({ name, status, assertionResults }: ReportedFile): FileOutcome {
  const results: readonly unknown[] = Array.isArray(assertionResults) ? assertionResults : []
  const count = (wanted: string): number => results.filter((result) => field(result, 'status') === wanted).length
  const failures = results
    .filter((result) => field(result, 'status') === 'failed')
    .map((result) => String(field(result, 'fullName')))
  const passed = count('passed')
  return {
    name: String(name),
    passed,
    failed: failures.length === 0 && status === 'failed' ? 1 : failures.length,
    skipped: results.length - passed - failures.length,
    failures,
  }
}

export function sumOf(outcomes: readonly Totals[]): Totals {
  const sum = (part: keyof Totals): number => outcomes.reduce((total, outcome) => total + outcome[part], 0)
  return { passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped') }
}

/** The last line of a test run, for people and for programs. */
export function totalsLine({ passed, failed, skipped }: Totals): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
}
