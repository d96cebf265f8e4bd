import type { HearthError } from '@hearth/contract'
import { refuse } from '../http/refusal.ts'
import { globMatches } from '../policy/glob.ts'

/** What a push asks for, as far as it has been read. */
export type PushCommands =
  | { readonly kind: 'incomplete' }
  | { readonly kind: 'commands'; readonly refs: readonly string[]; readonly capabilities: readonly string[] }

/** More than any push needs: a thousand branches and more. */
export const PUSH_COMMAND_BYTES = 256 * 1024
const FLUSH = '0000'
const ID = /^[0-9a-f]{40}([0-9a-f]{24})?$/

/** A push that is not allowed, with the report that git shows to who pushes. */
export class PushRefusedError extends Error {
  readonly refusal: HearthError
  readonly report: Buffer

  constructor(refusal: HearthError, report: Buffer) {
    super(refusal.message)
    this.refusal = refusal
    this.report = report
  }
}

/** Reads the list of changes that stands before the objects of a push. */
export function readPushCommands(bytes: Buffer): PushCommands {
  const refs: string[] = []
  const capabilities: string[] = []
  let at = 0
  for (;;) {
    if (bytes.length < at + 4) return { kind: 'incomplete' }
    const digits = bytes.toString('latin1', at, at + 4)
    if (digits === FLUSH) return { kind: 'commands', refs, capabilities }
    const length = /^[0-9a-f]{4}$/i.test(digits) ? Number.parseInt(digits, 16) : 0
    if (length <= 4) throw refuse('malformed', 'the push cannot be read')
    if (bytes.length < at + length) return { kind: 'incomplete' }
    const line = bytes.toString('latin1', at + 4, at + length)
    at += length
    if (line.startsWith('shallow ')) continue
    const [command = '', ...given] = line.split('\0')
    // Git heeds those of every line, with any white space between them.
    capabilities.push(...given.flatMap((some) => some.split(/\s+/)).filter((one) => one !== ''))
    const [before = '', after = '', ref = '', ...more] = command.replace(/\n$/, '').split(' ')
    if (!ID.test(before) || !ID.test(after) || ref === '' || more.length > 0) {
      throw refuse('malformed', 'the push holds something else than changes of branches')
    }
    refs.push(ref)
  }
}

/** Throws when a push would change something else than these branches, or has options, of which servers make merge requests and more. All of it is refused then. */
export function checkPush(
  { refs, capabilities }: PushCommands & { kind: 'commands' },
  branches: readonly string[],
): void {
  const allowed = (ref: string): boolean =>
    ref.startsWith('refs/heads/') &&
    isPlain(ref) &&
    branches.some((branch) => globMatches(branch, ref.slice('refs/heads/'.length)))
  if (capabilities.some((capability) => /^push-options(=|$)/.test(capability))) {
    const message = `the secret may push to ${branches.join(', ')} alone, without options (git push -o), which can change more than that`
    const reasons = refs.map((ref): [string, string] => [ref, 'options not allowed'])
    throw new PushRefusedError(refuse('branch_not_allowed', message), report(reasons, message, capabilities))
  }
  const wrong = refs.find((ref) => !allowed(ref))
  if (wrong === undefined) return
  const message = `the secret may push to ${branches.join(', ')} alone, not to ${wrong.slice(0, 200)}`
  const reasons = refs.map((ref): [string, string] => [
    ref,
    allowed(ref) ? 'refused with the others' : 'branch not allowed',
  ])
  throw new PushRefusedError(refuse('branch_not_allowed', message), report(reasons, message, capabilities))
}

function report(refs: readonly [string, string][], message: string, capabilities: readonly string[]): Buffer {
  const status = Buffer.concat([
    packet('unpack ok\n'),
    ...refs.map(([ref, reason]) => packet(`ng ${ref} ${reason}\n`)),
    Buffer.from(FLUSH),
  ])
  if (!capabilities.includes('side-band-64k')) return status
  const parts: Buffer[] = [packet(`\u0002hearth: ${message}\n`)]
  for (let at = 0; at < status.length; at += BAND_BYTES)
    parts.push(packet(`\u0001${status.toString('latin1', at, at + BAND_BYTES)}`))
  return Buffer.concat([...parts, Buffer.from(FLUSH)])
}

const BAND_BYTES = 60_000

function packet(text: string): Buffer {
  return Buffer.from(`${(text.length + 4).toString(16).padStart(4, '0')}${text}`, 'latin1')
}

/** A server that resolved `..` or knew other ends of a line would change another branch than the one that is named. */
function isPlain(ref: string): boolean {
  return /^[\x21-\x7e\x80-\xff]+$/.test(ref) && ref.split('/').every((part) => !/^\.{0,2}$/.test(part))
}
