import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import type { ErrorCode } from '@hearth/contract'

/** How a guest lies, by the number in hostile-guest.c, and what the host may answer. */
export interface Behaviour {
  readonly number: number
  readonly codes: readonly ErrorCode[]
}

/** A rung is tried out before it is used, so that a guest which never greets makes it unavailable. */
const NEVER_GREETS: readonly ErrorCode[] = [
  'rung_unavailable',
  'launch_failed',
  'protocol_violation',
  'sandbox_ended',
  'link_lost',
]
const GIVEN_UP: readonly ErrorCode[] = [...NEVER_GREETS, 'aborted', 'timeout']
const VIOLATION: readonly ErrorCode[] = ['protocol_violation', 'sandbox_ended']

/** Those that are caught while the sandbox is made. */
export const AT_CREATE: Readonly<Record<string, Behaviour>> = {
  'sends garbage': { number: 1, codes: NEVER_GREETS },
  'never answers': { number: 2, codes: GIVEN_UP },
  'floods before the greeting': { number: 3, codes: GIVEN_UP },
  'exits at once': { number: 4, codes: NEVER_GREETS },
  'announces a frame of two gigabytes': { number: 5, codes: NEVER_GREETS },
  'ends within a header': { number: 6, codes: NEVER_GREETS },
  'closes its stream and stays': { number: 7, codes: NEVER_GREETS },
  'greets with another nonce': { number: 9, codes: GIVEN_UP },
}

/** Those that greet well and lie at the first command. */
export const AT_COMMAND: Readonly<Record<string, Behaviour>> = {
  'sends a payload too short for its fields': { number: 21, codes: VIOLATION },
  'goes back in the output': { number: 22, codes: VIOLATION },
  'sends a message that does not exist': { number: 23, codes: VIOLATION },
  'sends data on a channel that nobody opened': { number: 24, codes: VIOLATION },
  'ends a process in a way that cannot be': { number: 25, codes: VIOLATION },
  'ends a channel again and again': { number: 26, codes: VIOLATION },
  'dies in the middle of a frame': { number: 27, codes: ['sandbox_ended', 'link_lost', 'protocol_violation'] },
  // The keeper reads headers and ends the sandbox by itself.
  'uses the reserved bytes': { number: 28, codes: ['sandbox_ended', 'link_lost', 'protocol_violation'] },
  'welcomes again and again': { number: 29, codes: VIOLATION },
  'sends pongs without end': { number: 30, codes: VIOLATION },
  'answers a command with a file': { number: 31, codes: VIOLATION },
}

/** Sends output without end; a reader that keeps up grants enough, one that does not read grants none. */
export const OVERRUN = 20

/** Greets well, and has twenty children that left it and ignore everything; never answers a command. */
export const DETACHED_CHILDREN = 8

export function compileHostileGuest(directory: string, behaviour: number, realGuest: string): string {
  const target = join(directory, `hostile-guest-${behaviour}`)
  const source = join(import.meta.dirname, 'hostile-guest.c')
  const defines = [`-DBEHAVIOUR=${behaviour}`, `-DREAL_GUEST="${realGuest}"`]
  execFileSync('cc', ['-static', '-O1', '-w', ...defines, '-o', target, source])
  return target
}
