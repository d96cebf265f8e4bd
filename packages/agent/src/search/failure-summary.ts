import { BOUNDS } from '@hearth/contract'
import type { CandidateReport } from './search-types.ts'

const EACH_CHARACTERS = 1500
const MOST_CHARACTERS = Math.min(12_000, BOUNDS.runMessageCharacters)
const FAILED: ReadonlySet<CandidateReport['outcome']> = new Set(['failed', 'flaky', 'no_change', 'broken'])

/** What an attempt is told of those before it that have failed. */
export function failureSummary(reports: readonly CandidateReport[]): string {
  const said = reports.filter(({ outcome }) => FAILED.has(outcome)).map(describe)
  const head =
    'Other attempts that went on from here have failed when their change was judged in a clean copy. Do it differently.'
  return [head, ...said].join('\n\n').slice(0, MOST_CHARACTERS)
}

function describe({ name, outcome, detail, unfixed, broken, testEdits, patch }: CandidateReport): string {
  const lines = [
    `${name}: ${outcome}${detail === '' ? '' : `, ${detail.slice(0, 300)}`}`,
    ...(unfixed.length === 0 ? [] : [`still fails: ${unfixed.join(', ')}`]),
    ...(broken.length === 0 ? [] : [`failed then, and passed before: ${broken.join(', ')}`]),
    ...(testEdits.length === 0 ? [] : [`its edits of ${testEdits.join(', ')} did not count`]),
    Buffer.from(patch).toString(),
  ]
  return lines.join('\n').slice(0, EACH_CHARACTERS)
}
