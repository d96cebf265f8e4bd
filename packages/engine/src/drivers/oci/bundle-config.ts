import type { Limits } from '@hearth/contract'
import type { OciSeccomp } from '../seccomp/to-oci-seccomp.ts'
import { GUEST_PATH, type StagedRoot } from '../staging/staged-root.ts'
import { GUEST_CAPABILITIES } from './capabilities.ts'
import { kernelInterfaces } from './kernel-interfaces.ts'
import { sharedMemoryBytes } from './shared-memory.ts'

export interface Mount {
  readonly destination: string
  readonly type: string
  readonly source: string
  readonly options: readonly string[]
}

export interface BundleInput {
  readonly staged: Pick<StagedRoot, 'root' | 'guest' | 'mounts' | 'volumes'>
  readonly hostname: string
  readonly limits: Pick<Limits, 'memoryBytes' | 'diskBytes'>
  readonly seccomp: OciSeccomp
  readonly variant?: BundleVariant
}

/** What a runtime wants beyond the common. */
export interface BundleVariant {
  readonly mounts?: readonly Mount[]
  readonly rlimits?: readonly { readonly type: string; readonly hard: number; readonly soft: number }[]
  readonly annotations?: Readonly<Record<string, string>>
  /** Of the guest itself and of nothing that it executes: they are not in the bounding set, or the guest takes them out of it. */
  readonly guestCapabilities?: readonly string[]
  /** They are in the bounding set, without which the kernel would not let the guest have them. */
  readonly guestBounds?: boolean
  /** Run by the runtime when everything is made and nothing of the sandbox has run. It goes on when this ends with 0. */
  readonly prestart?: { readonly path: string; readonly args: readonly string[] }
}

/** The user namespace is the keeper's: the runtime itself runs inside it. */
const NAMESPACES = ['pid', 'network', 'ipc', 'uts', 'mount', 'cgroup'] as const

/**
 * The `config.json` of an OCI bundle, for crun, runc and runsc. It has no `resources`: the runtime starts in the sandbox's
 * cgroup already, and what it starts inherits that. The guest sets the
 * rlimits of each command.
 */
export function bundleConfig({ staged, hostname, limits, seccomp, variant = {} }: BundleInput): object {
  const { maskedFiles, maskedDirectories, readOnly } = kernelInterfaces()
  return {
    ociVersion: '1.0.2',
    hostname,
    root: { path: staged.root, readonly: false },
    process: {
      terminal: false,
      user: { uid: 0, gid: 0 },
      cwd: '/',
      args: [GUEST_PATH],
      env: [],
      noNewPrivileges: true,
      capabilities: capabilitySets(variant),
      rlimits: variant.rlimits ?? [],
    },
    mounts: [...mounts(staged, sharedMemoryBytes(limits)), ...(variant.mounts ?? []), ...staged.volumes.map(volume)],
    linux: {
      namespaces: NAMESPACES.map((type) => ({ type })),
      maskedPaths: [...maskedFiles, ...maskedDirectories],
      readonlyPaths: readOnly,
      seccomp,
    },
    annotations: variant.annotations ?? {},
    ...(variant.prestart === undefined ? {} : { hooks: { prestart: [variant.prestart] } }),
  }
}

function capabilitySets({
  guestCapabilities = [],
  guestBounds = false,
}: BundleVariant): Record<'bounding' | 'effective' | 'permitted' | 'inheritable' | 'ambient', readonly string[]> {
  const guest = [...GUEST_CAPABILITIES, ...guestCapabilities]
  return {
    bounding: guestBounds ? guest : GUEST_CAPABILITIES,
    effective: guest,
    permitted: guest,
    inheritable: [],
    ambient: [],
  }
}

function volume({ source, target, readOnly }: StagedRoot['volumes'][number]): Mount {
  const options = ['rbind', readOnly ? 'ro' : 'rw', 'nosuid', 'nodev', 'rprivate']
  return { destination: target, type: 'bind', source, options }
}

function mounts(staged: BundleInput['staged'], sharedBytes: number): Mount[] {
  const readOnlyBind = (source: string, destination: string): Mount => ({
    destination,
    type: 'bind',
    source,
    options: ['rbind', 'ro', 'nosuid', 'nodev', 'rprivate'],
  })
  const kernel: [string, string, string[]][] = [
    ['/proc', 'proc', ['nosuid', 'noexec', 'nodev']],
    ['/dev', 'tmpfs', ['nosuid', 'noexec', 'strictatime', 'mode=755', 'size=65536']],
    ['/dev/pts', 'devpts', ['nosuid', 'noexec', 'newinstance', 'ptmxmode=0666', 'mode=0620']],
    ['/dev/shm', 'tmpfs', ['nosuid', 'noexec', 'nodev', 'mode=1777', `size=${sharedBytes}`]],
  ]
  return [
    ...staged.mounts.map(({ source, target }) => readOnlyBind(source, target)),
    readOnlyBind(staged.guest, GUEST_PATH),
    ...kernel.map(([destination, type, options]) => ({ destination, type, source: type, options })),
  ]
}
