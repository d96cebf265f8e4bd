import { statfs } from 'node:fs/promises'
import { HearthError } from '@hearth/contract'
import type { Probe } from '../driver.ts'
import type { LaunchPlan, Step } from '../launch-plan.ts'
import type { LinkRuntime, PlanInput, RuntimeContext } from '../link-runtime.ts'
import type { BundleVariant } from '../oci/bundle-config.ts'
import { OWN_CAPABILITIES } from '../oci/capabilities.ts'
import { stageBundle } from '../oci/staged-bundle.ts'
import { hostFilter } from '../seccomp/filter-file.ts'
import { requireArchitecture } from '../seccomp/syscall-numbers.ts'
import { type OciSeccomp, toOciSeccomp } from '../seccomp/to-oci-seccomp.ts'
import { explainNamespaceFailure } from '../staging/explain-failure.ts'
import { programVersion } from '../staging/program-version.ts'
import { findProgram } from '../staging/programs.ts'
import { limitNotes, namespaceCapabilities } from '../staging/rung-capabilities.ts'
import { enteredNamespace } from '../staging/staged-root.ts'
import { tryLaunch } from '../staging/try-launch.ts'
import { Remembered } from '../../host/remembered.ts'

const CGROUP_MOUNT = '/sys/fs/cgroup'
const CGROUP2_MAGIC = 0x6367_7270

/** crun or runc on an OCI bundle. It runs in the foreground: the keeper is its parent, and its end is the sandbox's. */
class ContainerRuntime implements LinkRuntime {
  readonly rung = 'container'
  readonly name: 'crun' | 'runc'
  readonly renames = 'keeper'
  readonly noMemory =
    'running processes of a container could be captured by CRIU alone, which is not used: it does not work with every kernel'
  readonly #program = new Remembered(() => findProgram(this.name))
  readonly #cgroupTreeMixed = new Remembered(isCgroupTreeMixed)
  #filter: ReturnType<typeof containerVariant> | null = null

  constructor(name: 'crun' | 'runc') {
    this.name = name
  }

  async probe(context: RuntimeContext): Promise<Probe> {
    const program = await this.#find()
    if (program === null) {
      return { available: false, reason: `${this.name} is not installed`, fix: `apt-get install ${this.name}` }
    }
    const trial = await tryLaunch(this, context)
    if (!trial.works) return { available: false, ...explainNamespaceFailure(trial.reason, context.facts) }
    return {
      available: true,
      label: await programVersion(program),
      capabilities: namespaceCapabilities(context.facts, trial.features),
      automatic: true,
      notes: limitNotes(context.facts),
    }
  }

  async plan(input: PlanInput, context: RuntimeContext): Promise<LaunchPlan> {
    const { request, idBase } = input
    const program = await this.#find()
    if (program === null) throw new HearthError('rung_unavailable', `${this.name} is not installed`)
    const filter = (this.#filter ??= containerVariant())
    const { steps, bundle, state } = await stageBundle(input, context, () => filter)
    const { memoryBytes, pids, cpus } = request.limits
    return {
      argv: [program, '--root', state, ...this.#options(), 'run', '--bundle', bundle, request.id],
      environment: {},
      steps: [...steps, ...(await this.#cgroupSteps())],
      userNamespace: enteredNamespace(idBase),
      files: [],
      cleanup: [],
      // runc has a pipe of its own before the guest.
      lane: this.name === 'crun',
      cgroup: { memoryBytes, pids, cpus },
    }
  }

  /** The keeper starts it in the sandbox's cgroup, where everything of it stays. runc finds out that it cannot make one. */
  #options(): string[] {
    return this.name === 'crun' ? ['--cgroup-manager=disabled'] : []
  }

  /** crun refuses to start where it sees both versions of cgroups, although it shall use neither. */
  async #cgroupSteps(): Promise<Step[]> {
    const hides = this.name === 'crun' && (await this.#cgroupTreeMixed.get())
    return hides ? [{ kind: 'tmpfs', target: CGROUP_MOUNT, data: 'size=4096,mode=0755' }] : []
  }

  #find(): Promise<string | null> {
    return this.#program.get()
  }
}

/**
 * crun loads the program of the annotation as it is instead of compiling `seccomp` at every start, which costs it 20 ms.
 * A runtime that does not know the annotation takes the section, which says the same.
 */
function containerVariant(): BundleVariant & { readonly seccomp: OciSeccomp } {
  return {
    guestCapabilities: OWN_CAPABILITIES,
    guestBounds: true,
    seccomp: toOciSeccomp(requireArchitecture()),
    annotations: { 'run.oci.seccomp_bpf_data': hostFilter().toString('base64') },
  }
}

/** True unless the mount is a version 2 tree or absent. */
async function isCgroupTreeMixed(): Promise<boolean> {
  return await statfs(CGROUP_MOUNT).then(
    ({ type }) => type !== CGROUP2_MAGIC,
    () => false,
  )
}

/** In order of preference: crun starts in a third of the time of runc. */
export const CONTAINER_RUNTIMES: readonly LinkRuntime[] = [new ContainerRuntime('crun'), new ContainerRuntime('runc')]
