import { provesFix, type Base } from './base-gate.ts'
import { normalisedChange } from './normalised-change.ts'
import type { CandidateReport, Prefer, Preference, SearchReport } from './search-types.ts'

/** Each further one costs two questions. */
const MOST_COMPARED = 4

type Choice = Pick<SearchReport, 'winner' | 'reason' | 'preferences'>

/** Counts who came to the same change and to the same results. Both are votes; what is judged once speaks for its duplicates. */
export function countVotes(reports: readonly CandidateReport[], base: Base): CandidateReport[] {
  const changes = new Map<string, number>()
  const results = new Map<string, number>()
  const keysOf = (report: CandidateReport): readonly [change: string, result: string] => {
    const judged = report.sameAs === null ? report : (reports[report.sameAs] ?? report)
    const result = resultOf(judged, base)
    return [`${result} ${normalisedChange(judged.patch)}`, result]
  }
  for (const report of reports.filter(isJudged)) {
    const [change, result] = keysOf(report)
    changes.set(change, (changes.get(change) ?? 0) + 1)
    results.set(result, (results.get(result) ?? 0) + 1)
  }
  return reports.map((report) => {
    if (!isJudged(report)) return report
    const [change, result] = keysOf(report)
    return { ...report, agreement: changes.get(change) ?? 1, cluster: results.get(result) ?? 1 }
  })
}

function isJudged({ outcome }: CandidateReport): boolean {
  return outcome === 'passed' || outcome === 'failed' || outcome === 'duplicate'
}

/** What a change does, as far as it was looked at. What is flaky says nothing. */
function resultOf({ verdict, behaviour, outcome }: CandidateReport, base: Base): string {
  const stable = Object.entries(verdict).filter(([name]) => !base.flaky.includes(name))
  const results = [...stable, ...Object.entries(behaviour)].map((entry) => JSON.stringify(entry))
  return `${outcome === 'failed'} ${results.toSorted().join(' ')}`
}

/**
 * The best of those that pass: the results that most came to, then the change that most came to, then without edits of tests; then whom
 * a judge prefers, if there is one, then the smaller change, then the first.
 */
export async function chooseWinner(reports: readonly CandidateReport[], base: Base, prefer?: Prefer): Promise<Choice> {
  const passed = reports.filter(({ outcome }) => outcome === 'passed').toSorted(inOrder)
  const [first] = passed
  if (first === undefined) return { winner: null, reason: whyNone(reports, base), preferences: [] }
  const equals = passed.filter((one) => votes(one, first) === 0).slice(0, MOST_COMPARED)
  const { winner, preferences } =
    prefer === undefined ? { winner: first, preferences: [] } : await preferred(equals, first, prefer)
  const others = passed.length === 1 ? 'the only one that passes' : `the best of ${passed.length} that pass`
  const how = preferences.some((one) => one.preferred === winner.index) ? '; the judge prefers it' : ''
  const size = `${winner.agreement} came to this change, ${winner.changedLines} lines`
  return { winner, reason: `${others}; ${size}${how}${unproven(base)}`, preferences }
}

/** Where no check failed before, any harmless change passes. */
function unproven(base: Base): string {
  if (provesFix(base)) return ''
  return '; no check failed before the change, so that they do not show that it fixes anything: name what must be fixed with --target'
}

/** Below zero when the first one has more votes. */
function votes(left: CandidateReport, right: CandidateReport): number {
  return (
    right.cluster - left.cluster ||
    right.agreement - left.agreement ||
    Number(left.testEdits.length > 0) - Number(right.testEdits.length > 0)
  )
}

function inOrder(left: CandidateReport, right: CandidateReport): number {
  return votes(left, right) || left.changedLines - right.changedLines || left.index - right.index
}

/** The one in front stays there unless another is preferred in both orders. */
async function preferred(
  contenders: readonly CandidateReport[],
  first: CandidateReport,
  prefer: Prefer,
): Promise<{ winner: CandidateReport; preferences: Preference[] }> {
  let winner = first
  const preferences: Preference[] = []
  for (const challenger of contenders.filter((one) => one !== first)) {
    const preference = await askBothWays(winner, challenger, prefer)
    preferences.push(preference)
    if (preference.preferred === challenger.index) winner = challenger
  }
  return { winner, preferences }
}

async function askBothWays(one: CandidateReport, other: CandidateReport, prefer: Prefer): Promise<Preference> {
  const start = { first: one.index, second: other.index }
  try {
    const answers = [await prefer(one, other), swapped(await prefer(other, one))]
    const [answer] = answers
    if (answer === 'neither' || answers[0] !== answers[1]) {
      return { ...start, preferred: null, detail: `it said ${answers.join(', and the other way round ')}` }
    }
    return { ...start, preferred: answer === 'first' ? one.index : other.index, detail: '' }
  } catch (error) {
    // All of them pass: without the judge the smaller one wins, and the report says so.
    return { ...start, preferred: null, detail: error instanceof Error ? error.message : String(error) }
  }
}

function swapped(answer: Awaited<ReturnType<Prefer>>): Awaited<ReturnType<Prefer>> {
  return answer === 'neither' ? answer : answer === 'first' ? 'second' : 'first'
}

function whyNone(reports: readonly CandidateReport[], base: Base): string {
  if (base.targets.length === 0 && base.flaky.length > 0) {
    return `no winner: what is to be fixed is flaky on the base (${base.flaky.join(', ')})`
  }
  const flaky = reports.filter(({ outcome }) => outcome === 'flaky').length
  const also = flaky === 0 ? '' : `; ${flaky} passed only at times`
  return `no winner: no candidate passes what it must${also}`
}

/** Whether there is enough: so many that pass, or one that those not judged yet could not outvote even if all of them came to one result. */
export function isSettled(
  reports: readonly CandidateReport[],
  base: Base,
  open: number,
  enough: number | 'settled' | undefined,
): boolean {
  if (enough === undefined || open === 0) return false
  const counted = countVotes(reports, base)
  const passed = counted.filter(({ outcome, sameAs }) =>
    outcome === 'duplicate' ? counted[sameAs ?? -1]?.outcome === 'passed' : outcome === 'passed',
  )
  if (enough !== 'settled') return passed.length >= enough
  const [leader] = passed.filter(({ outcome }) => outcome === 'passed').toSorted(inOrder)
  if (leader === undefined) return false
  const rival = Math.max(0, ...passed.filter((one) => votes(one, leader) > 0).map(({ cluster }) => cluster))
  return leader.agreement > rival + open
}
