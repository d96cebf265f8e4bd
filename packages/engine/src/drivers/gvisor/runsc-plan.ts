import { join } from 'node:path'
import type { Limits } from '@hearth/contract'
import type { CgroupLimits, LaunchPlan, Step } from '../launch-plan.ts'
import type { PlanInput, RestoreInput, RuntimeContext } from '../link-runtime.ts'
import type { BundleVariant } from '../oci/bundle-config.ts'
import { stageBundle, type StagedBundle } from '../oci/staged-bundle.ts'
import type { OciSeccomp } from '../seccomp/to-oci-seccomp.ts'
import { requireArchitecture } from '../seccomp/syscall-numbers.ts'
import { toGvisorSeccomp } from '../seccomp/to-gvisor-seccomp.ts'
import { enteredNamespace, stagePath, type StagedRoot } from '../staging/staged-root.ts'

/** In order of preference. Never kvm: the rung must not need it, and nested it is not a stronger boundary. */
export const PLATFORMS = ['systrap', 'ptrace'] as const
export type Platform = (typeof PLATFORMS)[number]

/** What starts sandboxes here. */
export interface Runsc {
  readonly program: string
  readonly platform: Platform
}

/** The name of every container: it is alone in the state directory of its runtime, which nobody else sees. */
export const CONTAINER = 'sandbox'

/** Memory of gVisor's own processes next to that of the sandbox: 14 MB when idle, and tables for each process and file. */
const SENTRY_BYTES = 64 * 1024 * 1024
/** The guest, and a supervisor for each running command. */
const GUEST_PROCESSES = 32
/**
 * The cgroup counts threads of gVisor and a stub for each thread inside, and reaching its limit ends the whole sandbox. It is
 * the backstop; RLIMIT_NPROC, which gVisor keeps also for root inside, is the limit that programs meet, as EAGAIN.
 */
const HOST_PIDS = { perProcess: 4, own: 1024 } as const

/**
 * runsc moves its standard descriptors to 256 and above when it already has threads, and the kernel then waits for every processor,
 * about 10 ms, to enlarge the table. With this one open the table is large from the start.
 */
const HIGH_DESCRIPTOR = 511

/** A sandbox that starts. */
export async function planRun(runsc: Runsc, input: PlanInput, context: RuntimeContext): Promise<LaunchPlan> {
  const staged = await stageBundle(input, context, (root) => gvisorVariant(root, input.request.limits))
  return launchPlan(runsc, input, staged, ['run'], [])
}

/** A sandbox that goes on from a checkpoint, on a copy of the files that were captured with it. */
export async function planRestore(runsc: Runsc, input: RestoreInput, context: RuntimeContext): Promise<LaunchPlan> {
  const staged = await stageBundle(input, context, (root) => gvisorVariant(root, input.request.limits))
  const image = imagePath(staged.stage)
  const plan = launchPlan(
    runsc,
    input,
    staged,
    ['restore', '--image-path', image],
    [{ kind: 'mkdir', path: image, mode: 0o755 }, showImage(input, image)],
  )
  return { ...plan, restored: true }
}

/** Where the kernel of a sandbox can be spoken to, as its runtime sees it. */
export function kernelSocket(sandboxDirectory: string, root: boolean): string {
  return join(stagePath(sandboxDirectory, root), 'state', `runsc-${CONTAINER}.sock`)
}

export function imagePath(stage: string): string {
  return join(stage, 'image')
}

/** The files are root's on disk; runsc opens them as root of the sandbox's user namespace. */
export function showImage({ from, idBase }: RestoreInput, image: string): Step {
  return {
    kind: 'bind',
    source: join(from.directory, 'memory'),
    target: image,
    options: idBase === null ? ['ro'] : ['ro', 'idmap'],
  }
}

export function gvisorVariant(
  staged: Pick<StagedRoot, 'root'>,
  limits: Pick<Limits, 'pids'>,
): { readonly seccomp: OciSeccomp } & BundleVariant {
  const processes = limits.pids + GUEST_PROCESSES
  return {
    seccomp: toGvisorSeccomp(requireArchitecture()),
    rlimits: [{ type: 'RLIMIT_NPROC', hard: processes, soft: processes }],
    // A fork gets a hostname of its own from the guest. It is the kernel of the sandbox that knows this capability, not the host's.
    guestCapabilities: ['CAP_SYS_ADMIN'],
    // Without it gVisor mounts a tmpfs there, whose bytes would count as memory instead of disk.
    mounts: [
      {
        destination: '/tmp',
        type: 'bind',
        source: join(staged.root, 'tmp'),
        options: ['rbind', 'rw', 'nosuid', 'nodev'],
      },
    ],
  }
}

export function gvisorCgroup(limits: Limits): CgroupLimits {
  return {
    memoryBytes: limits.memoryBytes + SENTRY_BYTES,
    pids: limits.pids * HOST_PIDS.perProcess + HOST_PIDS.own,
    cpus: limits.cpus,
  }
}

function launchPlan(
  runsc: Runsc,
  { request, idBase }: PlanInput,
  { bundle, state, root, steps }: StagedBundle,
  command: readonly string[],
  more: readonly Step[],
): LaunchPlan {
  return {
    ...runscPlan(runsc, { bundle, state }, command),
    steps: [...steps, ...temporaryDirectory(root, idBase), ...more],
    userNamespace: enteredNamespace(idBase),
    cgroup: gvisorCgroup(request.limits),
  }
}

/** What is the same in every launch of runsc. */
export function runscPlan(
  { program, platform }: Runsc,
  { bundle, state }: { readonly bundle: string; readonly state: string },
  [command = '', ...rest]: readonly string[],
): Pick<LaunchPlan, 'argv' | 'environment' | 'files' | 'cleanup' | 'withoutMembarrier'> {
  return {
    argv: [program, '--root', state, ...options(platform), command, '--bundle', bundle, ...rest, CONTAINER],
    environment: {},
    files: [{ descriptor: HIGH_DESCRIPTOR, path: '/dev/null' }],
    cleanup: [],
    withoutMembarrier: true,
  }
}

function options(platform: Platform): string[] {
  return [
    `--platform=${platform}`,
    // Loopback only; it is up inside.
    '--network=none',
    // The keeper starts it in the sandbox's cgroup, where everything of it stays.
    '--ignore-cgroups',
    // What is written goes to the staged root, on the host: there the disk limit is kept, beyond which a program meets EDQUOT; a capture shares its
    // bytes, a diff sees them, and they outlive gVisor. Its own overlay makes git up to twice as fast, but puts every changed byte into each checkpoint and
    // each child; in memory it keeps no limit, in a directory a full one ended the sandbox at its next checkpoint.
    '--overlay2=none',
    '--oci-seccomp',
    '--host-uds=none',
    '--host-fifo=none',
  ]
}

/** An image may have no /tmp. Where it has one, its mode stays. */
function temporaryDirectory(root: string, idBase: number | null): Step[] {
  const path = join(root, 'tmp')
  return [
    { kind: 'mkdir', path, mode: 0o1777 },
    ...(idBase === null ? [] : [{ kind: 'chown', path, uid: idBase, gid: idBase } as const]),
  ]
}
