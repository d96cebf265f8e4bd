import { constants } from 'node:os'
import { HearthError, type ErrorCode } from '@hearth/contract'
import type { MessageName } from './messages.gen.ts'

/** Text of a guest that gets into a message. */
const TEXT_CHARACTERS = 4096
const EDQUOT = 122

const { errno: numbers } = constants

const CODES: ReadonlyMap<number, ErrorCode> = new Map<number, ErrorCode>([
  [numbers.ENOENT, 'file_not_found'],
  [numbers.EEXIST, 'file_exists'],
  [numbers.ENOTDIR, 'not_a_directory'],
  [numbers.EISDIR, 'is_a_directory'],
  [numbers.ENOTEMPTY, 'directory_not_empty'],
  [numbers.EACCES, 'permission_denied'],
  [numbers.EPERM, 'permission_denied'],
  [numbers.EROFS, 'permission_denied'],
  [numbers.ENOSPC, 'disk_full'],
  [EDQUOT, 'disk_full'],
  [numbers.ECONNREFUSED, 'port_refused'],
  [numbers.ESRCH, 'process_not_found'],
  [numbers.EMFILE, 'too_many'],
  [numbers.ENFILE, 'too_many'],
  [numbers.EAGAIN, 'too_many'],
  [numbers.ETIMEDOUT, 'timeout'],
])

/** What an errno means for one request where that differs from its meaning for a file; `other` is for all the rest. */
interface Meaning {
  readonly codes: ReadonlyMap<number, ErrorCode>
  readonly other: ErrorCode
}

const SPAWN: Meaning = {
  codes: new Map<number, ErrorCode>([
    [numbers.EAGAIN, 'too_many'],
    [numbers.EMFILE, 'too_many'],
    [numbers.ENFILE, 'too_many'],
    [numbers.ENOSPC, 'disk_full'],
  ]),
  other: 'spawn_failed',
}
const PROCESS: Meaning = {
  codes: new Map<number, ErrorCode>([
    [numbers.ESRCH, 'process_not_found'],
    [numbers.ENOENT, 'process_not_found'],
    [numbers.EPIPE, 'process_not_found'],
    [numbers.EPERM, 'permission_denied'],
    [numbers.EMFILE, 'too_many'],
  ]),
  other: 'invalid_request',
}
const WATCH: Meaning = {
  codes: new Map<number, ErrorCode>([
    [numbers.ENOENT, 'file_not_found'],
    [numbers.ENOTDIR, 'not_a_directory'],
    [numbers.EACCES, 'permission_denied'],
  ]),
  other: 'watch_failed',
}
const CONNECT: Meaning = {
  codes: new Map<number, ErrorCode>([
    [numbers.EMFILE, 'too_many'],
    [numbers.ETIMEDOUT, 'timeout'],
  ]),
  other: 'port_refused',
}
/** Something in the sandbox changed what a merge was about to change. */
const APPLY: Meaning = { codes: new Map([...CODES, [numbers.ESTALE, 'conflict']]), other: 'file_failed' }
const LAUNCH: Meaning = { codes: new Map(), other: 'launch_failed' }

const MEANINGS: Partial<Record<MessageName, Meaning>> = {
  Spawn: SPAWN,
  Attach: PROCESS,
  Signal: PROCESS,
  Resize: PROCESS,
  Forget: PROCESS,
  Stdin: PROCESS,
  Watch: WATCH,
  Connect: CONNECT,
  Configure: LAUNCH,
  Network: LAUNCH,
  ApplyChanges: APPLY,
}

const NAMES: ReadonlyMap<number, string> = new Map(Object.entries(numbers).map(([name, number]) => [number, name]))

/** The error for a Failed message. What the guest says is quoted, never believed. */
export function failureOf(request: MessageName, errno: number, what: string): HearthError {
  const meaning = MEANINGS[request]
  const code = meaning === undefined ? (CODES.get(errno) ?? 'file_failed') : (meaning.codes.get(errno) ?? meaning.other)
  const name = NAMES.get(errno) ?? `errno ${errno}`
  const text = cleanText(what)
  return new HearthError(code, text === '' ? `${request} failed: ${name}` : `${text}: ${name}`, {
    context: { request, errno: name },
  })
}

/** Text from a guest for people to read: bounded, and without anything that moves a terminal's cursor. */
export function cleanText(text: string): string {
  return text.slice(0, TEXT_CHARACTERS).replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ')
}
