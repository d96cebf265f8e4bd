import { createInterface } from 'node:readline/promises'
import type { CheckedCall } from '@hearth/agent'
import { shortSubject } from '../output/agent-view.ts'
import type { LiveView } from '../output/live-view.ts'
import { printable } from '../output/printable.ts'

interface Surroundings {
  readonly live: LiveView
  readonly signal: AbortSignal
  readonly json?: boolean | undefined
}

/** Asks a person about calls for which a rule says so, one after the other; where nobody can be asked they are refused, and it is said why. */
export function asking({ live, signal, json }: Surroundings): (call: CheckedCall) => Promise<boolean> {
  const canAsk = process.stdin.isTTY && process.stderr.isTTY && json !== true
  let turn: Promise<unknown> = Promise.resolve()
  return async (call) => {
    const what = `${printable(call.name)} ${shortSubject(call.input)}`.trim()
    if (!canAsk) {
      process.stderr.write(`! not approved, since there is no terminal to ask on: ${what}\n`)
      return false
    }
    const answer = turn.then(async () => await ask(live, signal, what))
    turn = answer.catch(() => undefined)
    return await answer
  }
}

async function ask(live: LiveView, signal: AbortSignal, what: string): Promise<boolean> {
  using _still = live.hold()
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  // In its own mode the terminal makes a key of what would be a signal.
  lines.on('SIGINT', () => process.kill(process.pid, 'SIGINT'))
  try {
    return /^y(es)?$/i.test((await lines.question(`allow ${what} ? [y/N] `, { signal })).trim())
  } finally {
    lines.close()
  }
}
