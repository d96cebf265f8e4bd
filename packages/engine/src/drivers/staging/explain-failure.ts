import { existsSync, readFileSync } from 'node:fs'
import type { HostFacts } from '../../host/facts.ts'

export interface Explanation {
  readonly reason: string
  readonly fix: string | null
}

/** Settings by which distributions keep users from making user namespaces, and the command that changes each. */
const USER_NAMESPACE_SETTINGS = [
  {
    file: '/proc/sys/kernel/unprivileged_userns_clone',
    blocks: (value: string) => value === '0',
    fix: 'sysctl kernel.unprivileged_userns_clone=1',
  },
  {
    file: '/proc/sys/kernel/apparmor_restrict_unprivileged_userns',
    blocks: (value: string) => value === '1',
    fix: 'sysctl kernel.apparmor_restrict_unprivileged_userns=0',
  },
  {
    file: '/proc/sys/user/max_user_namespaces',
    blocks: (value: string) => value === '0',
    fix: 'sysctl user.max_user_namespaces=15000',
  },
]

/** Turns what a trial launch said into what a person can do about it. */
export function explainNamespaceFailure(reason: string, facts: Pick<HostFacts, 'root'>): Explanation {
  const blocking = USER_NAMESPACE_SETTINGS.find(
    ({ file, blocks }) => existsSync(file) && blocks(readFileSync(file, 'utf8').trim()),
  )
  const limits = blocking?.file.endsWith('max_user_namespaces') === true
  if (blocking !== undefined && (!facts.root || limits)) {
    return { reason: `user namespaces are not allowed: ${reason}`, fix: blocking.fix }
  }
  if (/mount(ing)? proc|Can't mount proc/i.test(reason)) {
    return {
      reason: `a new /proc cannot be mounted, as in a container without privileges: ${reason}`,
      fix: 'run Hearth outside of the container, or give the container --security-opt systempaths=unconfined',
    }
  }
  if (/cannot be id-mapped/.test(reason)) {
    return { reason, fix: 'set HEARTH_HOME to a directory on ext4, btrfs or xfs' }
  }
  return { reason, fix: null }
}
