import type { Reminder } from '../budget/budget.ts'
import type { PastCall } from './run-state.ts'

/** The same call with the same answer: this often is said, and this often ends the run. */
const SAME_TOLD = 3
const SAME_ENDS = 5
/** The same call whatever the answer, and two calls that take turns. */
const CALL_ENDS = 10
const ROUNDS_ENDS = 6

export type Stuck = { readonly stop: string } | { readonly remind: Reminder }

/** Whether the model goes round in circles. */
export function findStuck(past: readonly PastCall[], said: ReadonlySet<string>): Stuck | null {
  const same = run(past, (one, other) => one.call === other.call && one.observation === other.observation)
  const calls = run(past, (one, other) => one.call === other.call)
  const rounds = alternations(past)
  if (same >= SAME_ENDS) return { stop: `the same call gave the same answer ${same} times in a row` }
  if (calls >= CALL_ENDS) return { stop: `the same call was made ${calls} times in a row` }
  if (rounds >= ROUNDS_ENDS) return { stop: `two calls with the same answers took turns ${rounds} times` }
  const about = `stuck:${past.at(-1)?.call ?? ''}`
  if (same < SAME_TOLD || said.has(about)) return null
  const text = `You have made the same call ${same} times with the same result. Do something else, or submit.`
  return { remind: { about, text } }
}

function run(past: readonly PastCall[], alike: (one: PastCall, other: PastCall) => boolean): number {
  const last = past.at(-1)
  if (last === undefined) return 0
  const different = past.toReversed().findIndex((one) => !alike(one, last))
  return different === -1 ? past.length : different
}

/** How many times the last two calls, which differ, were made one after the other. */
function alternations(past: readonly PastCall[]): number {
  const [before, last] = past.slice(-2)
  if (before === undefined || last === undefined || before.call === last.call) return 0
  const newestFirst = past.toReversed()
  let index = 0
  for (; index < newestFirst.length; index++) {
    const expected = index % 2 === 0 ? last : before
    const one = newestFirst[index]
    if (one?.call !== expected.call || one.observation !== expected.observation) break
  }
  return Math.floor(index / 2)
}
