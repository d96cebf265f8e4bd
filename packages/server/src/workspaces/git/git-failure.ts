import { HearthError, type ErrorCode } from '@hearth/contract'
import type { Remote } from './remote.ts'
import { keyAdvice } from './remote-reach.ts'

/** What is said, and what it means. The first that fits counts. */
type Meaning = readonly [pattern: RegExp, code: ErrorCode, words: string]

/** What `ssh` says before git comes to say anything. */
const SSH_MEANINGS: readonly Meaning[] = [
  [
    /host key verification failed|remote host identification has changed|no matching host key type/i,
    'host_key_changed',
    'the server does not have the key that it should have',
  ],
  [/permission denied \(|too many authentication failures/i, 'repository_denied', 'the server refuses the key'],
  [/^load key .*: /im, 'repository_denied', '`ssh` cannot use the key'],
]

const MEANINGS: readonly Meaning[] = [
  [
    /fsck error|index-pack failed|invalid index-pack|unpack-objects failed|bad object|did not send all necessary/i,
    'repository_invalid',
    'what the server sent is damaged',
  ],
  [
    /\[(remote )?rejected\]|stale info|non-fast-forward|fetch first|failed to push some refs/,
    'push_rejected',
    'the server did not take the push',
  ],
  [
    /authentication failed|could not read (username|password)|returned error: 40[13]|repository .*not found|returned error: 404/i,
    'repository_denied',
    'the server refuses',
  ],
  [
    /does not appear to be a git repository|not a git repository|detected dubious ownership/i,
    'repository_unreachable',
    'there is no repository',
  ],
]

/** The error of a call that spoke to a remote. What the server itself said is shown bounded, without control characters. */
export function remoteFailure({ protocol, address, host }: Remote): (problems: string) => HearthError {
  const isSsh = protocol === 'ssh'
  return (problems) => {
    const found = [...(isSsh ? SSH_MEANINGS : []), ...MEANINGS].find(([pattern]) => pattern.test(problems))
    const [, code, words] = found ?? [null, 'repository_unreachable' as const, 'the server cannot be reached']
    // eslint-disable-next-line no-control-regex
    const said = problems.replace(/[\x00-\x1f\x7f]+/g, ' ').slice(-1000)
    return new HearthError(code, `${address}: ${words}: ${said}`, {
      context: { address },
      ...(isSsh && code === 'repository_denied' ? { suggestion: keyAdvice(host) } : {}),
    })
  }
}
