import { dirname } from 'node:path'
import type { Limits } from '@hearth/contract'
import { GUEST_CAPABILITIES, OWN_CAPABILITIES } from '../oci/capabilities.ts'
import { kernelInterfaces } from '../oci/kernel-interfaces.ts'
import { sharedMemoryBytes } from '../oci/shared-memory.ts'
import { GUEST_PATH, type StagedRoot } from '../staging/staged-root.ts'

/** Where the keeper leaves the seccomp filter open. */
export const FILTER_DESCRIPTOR = 10

interface BwrapInput {
  readonly bwrap: string
  readonly hostname: string
  readonly limits: Pick<Limits, 'memoryBytes' | 'diskBytes'>
  readonly staged: Pick<StagedRoot, 'root' | 'guest' | 'mounts' | 'volumes'>
}

/** bubblewrap is executed as root of the sandbox's user namespace already, so it makes none. Operations run in order. */
export function bwrapArguments({ bwrap, hostname, limits, staged }: BwrapInput): string[] {
  return [
    [bwrap, '--unshare-pid', '--unshare-net', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
    ['--hostname', hostname, '--clearenv', '--chdir', '/'],
    // The guest is PID 1 and reaps; when bubblewrap or the keeper dies, it dies, and with it everything inside.
    ['--as-pid-1', '--die-with-parent', '--new-session'],
    ['--cap-drop', 'ALL', ...[...GUEST_CAPABILITIES, ...OWN_CAPABILITIES].flatMap((name) => ['--cap-add', name])],
    ['--seccomp', String(FILTER_DESCRIPTOR)],
    ['--bind', staged.root, '/'],
    staged.mounts.flatMap(({ source, target }) => ['--ro-bind', source, target]),
    ['--perms', '0755', '--dir', dirname(GUEST_PATH), '--ro-bind', staged.guest, GUEST_PATH],
    processFileSystem(),
    devices(limits),
    staged.volumes.flatMap(({ source, target, readOnly }) => [readOnly ? '--ro-bind' : '--bind', source, target]),
    ['--', GUEST_PATH],
  ].flat()
}

function processFileSystem(): string[] {
  const { maskedFiles, maskedDirectories, readOnly } = kernelInterfaces()
  return [
    '--proc',
    '/proc',
    // The same tree as in the new /proc: what lies below it does not depend on the PID namespace.
    ...readOnly.flatMap((path) => ['--ro-bind', path, path]),
    // bubblewrap binds with `nodev`, so that opening it is refused.
    ...maskedFiles.flatMap((path) => ['--ro-bind', '/dev/null', path]),
    ...maskedDirectories.flatMap((path) => ['--size', '4096', '--tmpfs', path, '--remount-ro', path]),
  ]
}

/** /dev itself is a tmpfs without a bound, hence read-only. */
function devices(limits: BwrapInput['limits']): string[] {
  const size = String(sharedMemoryBytes(limits))
  return ['--dev', '/dev', '--perms', '1777', '--size', size, '--tmpfs', '/dev/shm', '--remount-ro', '/dev']
}
