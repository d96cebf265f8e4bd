import { join } from 'node:path'
import { HearthError } from '@hearth/contract'
import type { Capabilities, Probe } from '../driver.ts'
import type { LaunchPlan, Step } from '../launch-plan.ts'
import type { LinkRuntime, PlanInput, RuntimeContext } from '../link-runtime.ts'
import { stageBundle } from '../oci/staged-bundle.ts'
import { requireArchitecture } from '../seccomp/syscall-numbers.ts'
import { toGvisorSeccomp } from '../seccomp/to-gvisor-seccomp.ts'
import { explainNamespaceFailure } from '../staging/explain-failure.ts'
import { programVersion } from '../staging/program-version.ts'
import { findProgram } from '../staging/programs.ts'
import { limitNotes, namespaceCapabilities } from '../staging/rung-capabilities.ts'
import { enteredNamespace } from '../staging/staged-root.ts'
import { tryLaunch, type Trial } from '../staging/try-launch.ts'
import { OLDEST_RUNSC, runscDate } from './runsc-version.ts'

/** In order of preference. Never kvm: the rung must not need it, and nested it is not a stronger boundary. */
const PLATFORMS = ['systrap', 'ptrace'] as const
type Platform = (typeof PLATFORMS)[number]

const INSTALL = 'apt-get install runsc'
const INSTALL_NEWER = 'apt-get install -t bookworm-backports runsc'

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

/** runsc: every system call of the sandbox is answered by a kernel in user space. */
export class GvisorRuntime implements LinkRuntime {
  readonly rung = 'gvisor'
  readonly name = 'runsc'
  #program: Promise<string | null> | null = null
  #platform: Promise<Platform> | null = null

  async probe(context: RuntimeContext): Promise<Probe> {
    const program = await this.#find()
    if (program === null) return { available: false, reason: 'runsc is not installed', fix: INSTALL }
    const version = await programVersion(program)
    const date = runscDate(version)
    if (date !== null && date < OLDEST_RUNSC) {
      return {
        available: false,
        reason: `${version} is too old: gVisor ${OLDEST_RUNSC} or newer is needed`,
        fix: INSTALL_NEWER,
      }
    }
    try {
      const platform = await this.#choosePlatform(context)
      const notes = platform === 'ptrace' ? ['systrap does not work here, ptrace is used'] : []
      return {
        available: true,
        label: `${version} (${platform})`,
        capabilities: capabilities(context),
        automatic: true,
        notes: [...limitNotes(context.facts), ...notes],
      }
    } catch (error) {
      return { available: false, ...explainNamespaceFailure((error as Error).message, context.facts) }
    }
  }

  async plan(input: PlanInput, context: RuntimeContext): Promise<LaunchPlan> {
    return await this.#plan(await this.#choosePlatform(context), input, context)
  }

  async #plan(platform: Platform, input: PlanInput, context: RuntimeContext): Promise<LaunchPlan> {
    const { id, limits } = input.request
    const program = await this.#find()
    if (program === null) throw new HearthError('rung_unavailable', 'runsc is not installed')
    const processes = limits.pids + GUEST_PROCESSES
    const { steps, bundle, state, root } = await stageBundle(input, context, (staged) => ({
      seccomp: toGvisorSeccomp(requireArchitecture()),
      rlimits: [{ type: 'RLIMIT_NPROC', hard: processes, soft: processes }],
      // Without it gVisor mounts a tmpfs there, whose bytes would count as memory instead of disk.
      mounts: [
        {
          destination: '/tmp',
          type: 'bind',
          source: join(staged.root, 'tmp'),
          options: ['rbind', 'rw', 'nosuid', 'nodev'],
        },
      ],
    }))
    return {
      argv: [program, '--root', state, ...options(platform), 'run', '--bundle', bundle, id],
      environment: {},
      steps: [...steps, ...temporaryDirectory(root, input.idBase)],
      userNamespace: enteredNamespace(input.idBase),
      files: [{ descriptor: HIGH_DESCRIPTOR, path: '/dev/null' }],
      cleanup: [],
      withoutMembarrier: true,
      cgroup: {
        memoryBytes: limits.memoryBytes + SENTRY_BYTES,
        pids: limits.pids * HOST_PIDS.perProcess + HOST_PIDS.own,
        cpus: limits.cpus,
      },
    }
  }

  /** The first platform on which a sandbox really starts. Found once; a failure is not remembered. */
  #choosePlatform(context: RuntimeContext): Promise<Platform> {
    this.#platform ??= this.#firstWorking(context)
    this.#platform.catch(() => {
      this.#platform = null
    })
    return this.#platform
  }

  async #firstWorking(context: RuntimeContext): Promise<Platform> {
    const reasons: string[] = []
    for (const platform of PLATFORMS) {
      const trial: Trial = await tryLaunch({ plan: (input, where) => this.#plan(platform, input, where) }, context)
      if (trial.works) return platform
      reasons.push(`${platform}: ${trial.reason}`)
    }
    throw new HearthError('rung_unavailable', reasons.join('; '))
  }

  #find(): Promise<string | null> {
    this.#program ??= findProgram('runsc')
    return this.#program
  }
}

function options(platform: Platform): string[] {
  return [
    `--platform=${platform}`,
    // Loopback only; it is up inside.
    '--network=none',
    // The keeper starts it in the sandbox's cgroup, where everything of it stays.
    '--ignore-cgroups',
    // What is written goes to the staged root, where the disk limit is kept: beyond it a program meets ENOSPC or EDQUOT.
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

/** RLIMIT_NPROC holds with and without cgroups. */
function capabilities({ facts }: RuntimeContext): Capabilities {
  const base = namespaceCapabilities(facts)
  return { ...base, limits: { ...base.limits, pids: 'enforced' } }
}
