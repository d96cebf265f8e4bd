import { HearthError, type ErrorCode } from '@hearth/contract'

/** What git says, and what it means. The first that fits counts. */
const MEANINGS: readonly (readonly [RegExp, ErrorCode, string])[] = [
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
export function remoteFailure(address: string): (problems: string) => HearthError {
  return (problems) => {
    const found = MEANINGS.find(([pattern]) => pattern.test(problems))
    const [, code, words] = found ?? [null, 'repository_unreachable' as const, 'the server cannot be reached']
    // eslint-disable-next-line no-control-regex
    const said = problems.replace(/[\x00-\x1f\x7f]+/g, ' ').slice(-1000)
    return new HearthError(code, `${address}: ${words}: ${said}`, { context: { address } })
  }
}
