import type { CandidateReport, SearchReport } from '@hearth/agent'
import type { View } from './present.ts'
import { printable } from './printable.ts'

const NAME_CHARACTERS = 48
const WHY_CHARACTERS = 160

/** The candidates of a search for people: what became of each, and why. */
export function candidateView({ winner, candidates }: SearchReport): View<CandidateReport> {
  return {
    header: ['', 'CANDIDATE', 'OUTCOME', 'LINES', 'AGREE', 'WHY'],
    id: ({ name }) => printable(name),
    row: (candidate) => [
      candidate.index === winner?.index ? '*' : '',
      short(candidate.name, NAME_CHARACTERS),
      candidate.outcome,
      candidate.files.length === 0 ? '' : String(candidate.changedLines),
      candidate.outcome === 'passed' ? `${candidate.agreement}/${candidate.cluster}` : '',
      short(whyOf(candidate, candidates), WHY_CHARACTERS),
    ],
  }
}

function whyOf(candidate: CandidateReport, candidates: readonly CandidateReport[]): string {
  const { sameAs, unfixed, broken, testEdits, detail } = candidate
  const parts = [
    ...(sameAs === null ? [] : [`the same as ${candidates[sameAs]?.name ?? ''}`]),
    ...(unfixed.length === 0 ? [] : [`still fails: ${unfixed.join(', ')}`]),
    ...(broken.length === 0 ? [] : [`breaks: ${broken.join(', ')}`]),
    ...(testEdits.length === 0 ? [] : [`edits tests, which does not count: ${testEdits.join(', ')}`]),
    ...(detail === '' ? [] : [detail]),
  ]
  return parts.join('; ')
}

function short(text: string, most: number): string {
  const line = printable(text.trim().replaceAll('\n', ' '))
  return line.length > most ? `${line.slice(0, most - 3)}...` : line
}

/** The whole report: patches are text, or base64 where they are not. */
export function reportJson(report: SearchReport): unknown {
  const { winner, candidates, ...rest } = report
  return { ...rest, winner: winner?.index ?? null, candidates: candidates.map(candidateJson) }
}

function candidateJson({ patch, ...rest }: CandidateReport): unknown {
  const bytes = Buffer.from(patch)
  const text = bytes.toString('utf8')
  return Buffer.from(text, 'utf8').equals(bytes)
    ? { ...rest, patch: text }
    : { ...rest, patchBase64: bytes.toString('base64') }
}
