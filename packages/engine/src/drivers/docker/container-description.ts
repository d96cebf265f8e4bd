import { readFileSync } from 'node:fs'
import type { Limits } from '@hearth/contract'
import { GUEST_CAPABILITIES } from '../oci/capabilities.ts'
import { GUEST_PATH } from '../staging/staged-root.ts'

export const DIRECTORY_LABEL = 'hearth.directory'

/** Processes of the guest itself beside those that the sandbox may have. */
const PIDS_HEADROOM = 16
/** As the engines themselves have it. */
const MOST_OPEN_FILES = 1_048_576
/** What Podman's service allows itself. It is per user; the limit of the sandbox is the one on its cgroup. */
const MOST_PROCESSES = 32_768

export interface DescriptionInput {
  readonly image: string
  readonly hostname: string
  readonly limits: Limits
  readonly guest: string
  /** The sandbox's directory, by which a container without its sandbox is recognized. */
  readonly directory: string
  /** The filter, or, for Podman, the file that holds it. */
  readonly seccomp: string
  readonly mounts: readonly { readonly source: string; readonly target: string }[]
}

/** The body of `POST /containers/create`. */
export function containerDescription(input: DescriptionInput): object {
  const { limits } = input
  const mounts = [...input.mounts, { source: input.guest, target: GUEST_PATH }]
  return {
    Image: input.image,
    Entrypoint: [GUEST_PATH],
    Cmd: [],
    User: '0:0',
    WorkingDir: '/',
    Hostname: input.hostname,
    Env: [],
    Labels: { [DIRECTORY_LABEL]: input.directory },
    // The link. When whoever is attached goes away, the guest's input ends, and the guest with it.
    OpenStdin: true,
    StdinOnce: true,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    Tty: false,
    NetworkDisabled: true,
    HostConfig: {
      AutoRemove: true,
      NetworkMode: 'none',
      IpcMode: 'private',
      // SAFETY: as on the other rungs of namespaces; see oci/capabilities.ts and seccomp/.
      CapDrop: ['ALL'],
      CapAdd: GUEST_CAPABILITIES.map((name) => name.replace('CAP_', '')),
      SecurityOpt: ['no-new-privileges', `seccomp=${input.seccomp}`],
      Privileged: false,
      ReadonlyRootfs: false,
      Memory: limits.memoryBytes,
      MemorySwap: limits.memoryBytes,
      NanoCpus: Math.round(limits.cpus * 1_000_000_000),
      PidsLimit: limits.pids + PIDS_HEADROOM,
      ShmSize: Math.floor(limits.memoryBytes / 2),
      Ulimits: ownLimits(),
      Mounts: mounts.map(({ source, target }) => ({ Type: 'bind', Source: source, Target: target, ReadOnly: true })),
      // What passes there is the link, which nobody needs in a log.
      LogConfig: { Type: 'none', Config: {} },
      RestartPolicy: { Name: 'no' },
    },
  }
}

/**
 * Hard limits as this process has them. The defaults of the engines are more than an engine without CAP_SYS_RESOURCE can give, and
 * then nothing starts. The guest lowers them for each command.
 */
function ownLimits(): { Name: string; Soft: number; Hard: number }[] {
  const text = readFileSync('/proc/self/limits', 'utf8')
  const hard = (title: string, most: number): number => {
    const value = new RegExp(`^${title}\\s+\\S+\\s+(\\d+)`, 'm').exec(text)?.[1]
    return value === undefined ? most : Math.min(Number(value), most)
  }
  const limits = { nofile: hard('Max open files', MOST_OPEN_FILES), nproc: hard('Max processes', MOST_PROCESSES) }
  return Object.entries(limits).map(([Name, value]) => ({ Name, Soft: value, Hard: value }))
}
