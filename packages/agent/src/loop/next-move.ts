import type { BudgetLimits, Spent, StopReason } from '@hearth/contract'
import { exhausted, reminderOf, type Reminder } from '../budget/budget.ts'
import type { RunState } from './run-state.ts'
import { findStuck } from './stuck.ts'

export interface Stop {
  readonly reason: StopReason
  readonly detail: string
  /** The message of a person that asked for it. */
  readonly message?: number
}

const MOST_SILENT = 3
const MOST_MALFORMED = 5
const MOST_REFUSALS = 5

/** What comes before the next call of the model: the end, something to tell it, or nothing. */
export type Move = { readonly stop: Stop } | { readonly remind: Reminder } | null

/** A budget and what is used of it: the run's own, and the one that it shares with others. */
export interface Account {
  readonly limits: BudgetLimits
  readonly spent: Spent
}

export function nextMove(state: RunState, accounts: readonly Account[]): Move {
  for (const { limits, spent } of accounts) {
    const over = exhausted(limits, spent)
    if (over !== null) return end(over, usedUp(over))
  }
  if (state.refusals >= MOST_REFUSALS) return end('verify_failed', `${state.refusals} submissions were not accepted`)
  if (state.silent >= MOST_SILENT) return end('no_tool_calls', `${state.silent} replies in a row called no tool`)
  if (state.malformed >= MOST_MALFORMED)
    return end('malformed_calls', `${state.malformed} calls in a row were malformed`)
  const stuck = findStuck(state.past, state.reminded)
  if (stuck !== null) return 'stop' in stuck ? end('stuck', stuck.stop) : stuck
  const silence = silenceReminder(state)
  if (silence !== null) return { remind: silence }
  for (const { limits, spent } of accounts) {
    const reminder = reminderOf(limits, spent, state.reminded)
    if (reminder !== null) return { remind: reminder }
  }
  return null
}

export function usedUp(part: StopReason): string {
  return `the budget is used up: ${part.replace('_', ' ')}`
}

function end(reason: StopReason, detail: string): Move {
  return { stop: { reason, detail } }
}

function silenceReminder(state: RunState): Reminder | null {
  const about = `silent:${state.replies}`
  if (state.silent === 0 || state.reminded.has(about)) return null
  const cut =
    state.lastFinish === 'length' ? 'Your reply was cut off because it was too long: take smaller steps. ' : ''
  return { about, text: `${cut}You have called no tool. Go on with the task, or call submit if it is done.` }
}
