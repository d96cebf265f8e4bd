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
  const idle = (targets ?? []).filter((name) => passing.includes(name))
  if (idle.length > 0) {
    throw new HearthError('invalid_request', `${idle.join(', ')} passes on the base already, and can be no target`, {
      suggestion: 'Give a check that fails now and passes with a right change.',
    })
  }
  return { passing, failing, flaky, targets: (targets ?? failing).filter((name) => !flaky.includes(name)) }
}

/** Whether passing says more than that nothing is broken. */
export function provesFix({ targets }: Base): boolean {
  return targets.length > 0
}

type Compared = Pick<CandidateReport, 'fixed' | 'unfixed' | 'broken'>

/** How a verdict stands to the base. A check that is gone does not pass. */
export function compare(base: Base, verdict: Verdict): Compared {
  const passes = (name: string): boolean => verdict[name] === true
  return {
    fixed: base.targets.filter((name) => passes(name)),
    unfixed: base.targets.filter((name) => !passes(name)),
    broken: base.passing.filter((name) => !passes(name)),
  }
}

/** With nothing that can be told from the base, nothing can be said to be right. */
export function isRight(base: Base, { unfixed, broken }: Compared): boolean {
  const decided = base.targets.length > 0 || base.flaky.length === 0
  return decided && unfixed.length === 0 && broken.length === 0
}
