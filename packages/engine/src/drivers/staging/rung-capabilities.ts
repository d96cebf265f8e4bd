import type { Capabilities, Enforcement } from '../driver.ts'
import type { HostFacts } from '../../host/facts.ts'

/** Of Welcome: the guest can give a command a network of its own. */
const OWN_NETWORKS = 4

/** What a rung of namespaces can do with the cgroups and the user that there are, and with what its guest says. */
export function namespaceCapabilities({ root, cgroups }: HostFacts, features: number): Capabilities {
  const by = (controller: 'memory' | 'pids' | 'cpu'): boolean =>
    cgroups.kind === 'v2' || (cgroups.kind === 'v1' && cgroups[controller] !== null)
  const whenCounted = (counted: boolean, without: Enforcement): Enforcement => (counted ? 'enforced' : without)
  return {
    processes: true,
    terminals: true,
    users: root,
    ports: true,
    reconnect: true,
    pause: true,
    snapshots: true,
    memory: false,
    volumes: true,
    narrowing: (features & OWN_NETWORKS) !== 0,
    // The kernel is the host's: what it tells of processes, it tells of those of everybody, and to the host's root alone.
    processRecord: false,
    hostTemplate: true,
    limits: {
      cpus: whenCounted(by('cpu'), 'none'),
      memoryBytes: whenCounted(by('memory'), 'none'),
      // Without a cgroup the guest sets RLIMIT_NPROC, which counts per user.
      pids: whenCounted(by('pids'), 'approximate'),
      diskBytes: 'enforced',
      openFiles: 'enforced',
    },
  }
}

/** What a person should know about the limits. */
export function limitNotes({ cgroups }: HostFacts): string[] {
  return cgroups.kind === 'none' ? [`no limits on memory and processor time: ${cgroups.reason}`] : []
}
