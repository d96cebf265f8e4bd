import { HearthError } from '@hearth/contract'
import type { Capabilities, Probe } from '../driver.ts'
import type { LaunchPlan } from '../launch-plan.ts'
import type { LinkRuntime, PlanInput, RuntimeContext } from '../link-runtime.ts'
import { explainNamespaceFailure } from '../staging/explain-failure.ts'
import { programVersion } from '../staging/program-version.ts'
import { findProgram } from '../staging/programs.ts'
import { limitNotes, namespaceCapabilities } from '../staging/rung-capabilities.ts'
import { tryLaunch, type Trial } from '../staging/try-launch.ts'
import { GvisorMemory } from './gvisor-memory.ts'
import { kernelSocket, PLATFORMS, planRun, type Platform, type Runsc } from './runsc-plan.ts'
import { OLDEST_RUNSC, runscDate } from './runsc-version.ts'
import { controlSocket } from './take-checkpoint.ts'
import { traceProcesses } from './trace-processes.ts'
import { Remembered, RememberedByKey } from '../../host/remembered.ts'

const INSTALL = 'apt-get install runsc'
const INSTALL_NEWER = 'apt-get install -t bookworm-backports runsc'

/** A platform on which sandboxes start, and what the guest said there. */
interface Working {
  readonly platform: Platform
  readonly features: number
}

/** runsc: every system call of the sandbox is answered by a kernel in user space. */
export class GvisorRuntime implements LinkRuntime {
  readonly rung = 'gvisor'
  readonly renames = 'guest'
  readonly name = 'runsc'
  readonly memory: GvisorMemory = new GvisorMemory((context) => this.#runsc(context))
  readonly #program = new Remembered(() => findProgram('runsc'))
  /** The first platform on which a sandbox really starts. */
  readonly #platform = new RememberedByKey<Working>()

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
      const { platform, features } = await this.#choosePlatform(context)
      const notes = platform === 'ptrace' ? ['systrap does not work here, ptrace is used'] : []
      return {
        available: true,
        label: `${version} (${platform})`,
        capabilities: capabilities(context, features),
        automatic: true,
        notes: [...limitNotes(context.facts), ...notes],
      }
    } catch (error) {
      return { available: false, ...explainNamespaceFailure((error as Error).message, context.facts) }
    }
  }

  async plan(input: PlanInput, context: RuntimeContext): Promise<LaunchPlan> {
    return await planRun(await this.#runsc(context), input, context)
  }

  async *traceProcesses(
    sandboxDirectory: string,
    { facts, paths }: RuntimeContext,
    signal: AbortSignal,
  ): AsyncGenerator<Uint8Array> {
    const socket = await controlSocket(sandboxDirectory, kernelSocket(sandboxDirectory, facts.root))
    yield* traceProcesses(paths.guest, socket, signal)
  }

  #choosePlatform(context: RuntimeContext): Promise<Working> {
    return this.#platform.get(context.paths.home, () => this.#firstWorking(context))
  }

  async #firstWorking(context: RuntimeContext): Promise<Working> {
    const reasons: string[] = []
    for (const platform of PLATFORMS) {
      const runsc = { program: await this.#require(), platform }
      const trial: Trial = await tryLaunch({ plan: (input, where) => planRun(runsc, input, where) }, context)
      if (trial.works) return { platform, features: trial.features }
      reasons.push(`${platform}: ${trial.reason}`)
    }
    throw new HearthError('rung_unavailable', reasons.join('; '))
  }

  async #runsc(context: RuntimeContext): Promise<Runsc> {
    const [program, { platform }] = await Promise.all([this.#require(), this.#choosePlatform(context)])
    return { program, platform }
  }

  async #require(): Promise<string> {
    const program = await this.#find()
    if (program === null) throw new HearthError('rung_unavailable', 'runsc is not installed')
    return program
  }

  #find(): Promise<string | null> {
    return this.#program.get()
  }
}

/** RLIMIT_NPROC holds with and without cgroups. */
function capabilities({ facts }: RuntimeContext, features: number): Capabilities {
  const base = namespaceCapabilities(facts, features)
  // runsc refuses to restore where it is not root of its own; its control socket lies where only root looks.
  return { ...base, memory: facts.root, processRecord: facts.root, limits: { ...base.limits, pids: 'enforced' } }
}
