export interface Totals {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

interface ReportedFile {
  readonly status?: unknown
  readonly assertionResults?: unknown
}

/** Counts a report of vitest's JSON reporter. A file that failed without a failed test (it did not load) counts as one failure. */
export function readTotals(report: string): Totals {
  const parsed: unknown = JSON.parse(report)
  const files = field(parsed, 'testResults')
  const totals = { passed: 0, failed: 0, skipped: 0 }
  for (const file of Array.isArray(files) ? (files as readonly ReportedFile[]) : []) {
    const results: readonly unknown[] = Array.isArray(file.assertionResults) ? file.assertionResults : []
    const statuses = results.map((result) => field(result, 'status'))
    const failed = statuses.filter((status) => status === 'failed').length
    totals.passed += statuses.filter((status) => status === 'passed').length
    totals.failed += failed === 0 && file.status === 'failed' ? 1 : failed
    totals.skipped += statuses.filter((status) => status !== 'passed' && status !== 'failed').length
  }
  return totals
}

/** The last line of a test run, for people and for programs. */
export function totalsLine({ passed, failed, skipped }: Totals): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
}
