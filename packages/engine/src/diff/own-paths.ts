import { isAtOrBelow } from './change-record.ts'

/**
 * What is Hearth's or the kernel's in a root: mount points, and files that give each sandbox an identity of its own. They are no changes
 * that somebody made, and no sandbox may get those of another.
 */
const OWN_PATHS = [
  '.hearth',
  'proc',
  'sys',
  'dev',
  'etc/hostname',
  'etc/machine-id',
  // The resolver of the sandbox, and what it trusts together with its own authority.
  'etc/resolv.conf',
  'etc/ssl/certs/ca-certificates.crt',
] as const

/** Where a merge that is under way keeps its files. */
const STAGING = '.hearth-merge-'

export function isOwnPath(path: string): boolean {
  return OWN_PATHS.some((own) => isAtOrBelow(path, own)) || path.split('/').some((name) => name.startsWith(STAGING))
}
