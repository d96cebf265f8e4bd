import type { Qemu } from './qemu.ts'

export interface Confinement {
  readonly kvmDevice: boolean
  /** Become this user, with this one more group, before anything else; null when it is done otherwise. */
  readonly identity: { readonly user: number; readonly group: number } | null
}

/** Where QEMU finds a file that was opened for it. Opening it again this way asks for the file's own permissions, not the path's. */
export function descriptorPath(descriptor: number): string {
  return `/proc/self/fd/${descriptor}`
}

/**
 * SAFETY: the box around QEMU, for the case that a guest breaks out of its machine: no file of the host but the system's
 * libraries, read-only; no network, no other process, no capability, no environment; gone with its parent.
 */
export function confine(qemu: Qemu, confinement: Confinement, command: readonly string[]): string[] {
  const { identity, kvmDevice } = confinement
  const user = identity === null ? [] : changeUser(identity.user, identity.group)
  const options = [
    ['--unshare-all', '--cap-drop', 'ALL', '--clearenv', '--die-with-parent', '--new-session', '--as-pid-1'],
    ['--ro-bind', '/usr', '/usr', '--ro-bind-try', '/etc/ld.so.cache', '/etc/ld.so.cache'],
    ['--symlink', 'usr/lib', '/lib', '--symlink', 'usr/lib64', '/lib64', '--symlink', 'usr/bin', '/bin'],
    ['--proc', '/proc'],
    // QEMU asks for no other device, and each costs a mount.
    kvmDevice ? ['--dev-bind', '/dev/kvm', '/dev/kvm'] : [],
    ['--chdir', '/'],
  ]
  return [...user, qemu.bubblewrap, ...options.flat(), '--', ...command]
}

function changeUser(user: number, group: number): string[] {
  const ids = [`--reuid=${user}`, `--regid=${user}`, `--groups=${group}`]
  return ['/usr/bin/setpriv', ...ids, '--inh-caps=-all', '--no-new-privs', '--']
}
