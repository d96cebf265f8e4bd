import { constants } from 'node:os'
import type { ProcessExit } from '@hearth/contract'

/** Wrong use of a command that runs nothing inside. */
export const USAGE = 2
/** The command ran into its timeout, as timeout(1) has it. */
export const TIMED_OUT = 124
/** Hearth itself failed, so that there is no exit code of the command. */
export const HEARTH_FAILED = 125
/** The command is there but cannot be started, or is not there: as the shell has it. */
const NOT_EXECUTABLE = 126
const NOT_FOUND = 127

/** What `run` and `shell` end with when there is no result of the command. */
export function failureExitCode(error: { readonly code: string; readonly message: string }): number {
  if (error.code !== 'spawn_failed') return HEARTH_FAILED
  return /\bENOENT\b/.test(error.message) ? NOT_FOUND : NOT_EXECUTABLE
}

/** What `run` and `shell` end with: the command's own code, 128 and the number of the signal that ended it, or 124. */
export function exitCodeOf(exit: Pick<ProcessExit, 'exitCode' | 'signal' | 'timedOut'>): number {
  if (exit.timedOut) return TIMED_OUT
  return exit.exitCode ?? 128 + signalNumber(exit.signal ?? 'SIGKILL')
}

export function signalNumber(name: string): number {
  const numbers: Readonly<Record<string, number>> = constants.signals
  return numbers[name] ?? 9
}
