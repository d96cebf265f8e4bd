import { HearthError } from '@hearth/contract'
import type { CandidateReport, SearchReport, Verdict } from './search-types.ts'

export type Base = SearchReport['base']

/** What two runs of the same machine agree on. */
export function baseGate(first: Verdict, second: Verdict, targets: readonly string[] | undefined): Base {
  const names = [...new Set([...Object.keys(first), ...Object.keys(second)])].toSorted()
  const flaky = names.filter((name) => first[name] !== second[name])
  const stable = names.filter((name) => first[name] === second[name])
  const passing = stable.filter((name) => first[name] === true)
  const failing = stable.filter((name) => first[name] === false)
  const unknown = (targets ?? []).filter((name) => !names.includes(name))
  if (unknown.length > 0) {
    throw new HearthError('invalid_request', `the judge knows no check ${unknown.join(', ')}`, {
      suggestion: `It knows ${names.join(', ')}.`,
    })
  }
  return { passing, failing, flaky, targets: (targets ?? failing).filter((name) => !flaky.includes(name)) }
}

/** How a verdict stands to the base. A check that is gone does not pass. */
export function compare(base: Base, verdict: Verdict): Pick<CandidateReport, 'fixed' | 'unfixed' | 'broken'> {
  const passes = (name: string): boolean => verdict[name] === true
  return {
    fixed: base.targets.filter((name) => passes(name) && !base.passing.includes(name)),
    unfixed: base.targets.filter((name) => !passes(name)),
    broken: base.passing.filter((name) => !passes(name)),
  }
}

/** The best of those that pass: what most came to, then without edits of tests, then the smaller change, then the first. */
export function chooseWinner(
  candidates: readonly CandidateReport[],
  base: Base,
): Pick<SearchReport, 'winner' | 'reason'> {
  const passed = candidates.filter(({ outcome }) => outcome === 'passed')
  const [winner] = passed.toSorted(
    (left, right) =>
      right.agreement - left.agreement ||
      Number(left.testEdits.length > 0) - Number(right.testEdits.length > 0) ||
      left.changedLines - right.changedLines ||
      left.index - right.index,
  )
  if (winner !== undefined) {
    const others = passed.length === 1 ? 'the only one that passes' : `the best of ${passed.length} that pass`
    return { winner, reason: `${others}; ${winner.agreement} came to this change, ${winner.changedLines} lines` }
  }
  if (base.targets.length === 0 && base.flaky.length > 0) {
    return { winner: null, reason: `no winner: what is to be fixed is flaky on the base (${base.flaky.join(', ')})` }
  }
  return { winner: null, reason: 'no winner: no candidate passes what it must' }
}
