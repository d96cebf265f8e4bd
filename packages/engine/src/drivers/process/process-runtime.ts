import { HearthError } from '@hearth/contract'
import type { Probe } from '../driver.ts'
import type { LaunchPlan } from '../launch-plan.ts'
import type { LinkRuntime, PlanInput, RuntimeContext } from '../link-runtime.ts'
import { filterFile } from '../seccomp/filter-file.ts'
import { findProgram } from '../staging/programs.ts'
import { limitNotes, namespaceCapabilities } from '../staging/rung-capabilities.ts'
import { enteredNamespace, stageRoot } from '../staging/staged-root.ts'
import { tryLaunch } from '../staging/try-launch.ts'
import { programVersion } from '../staging/program-version.ts'
import { bwrapArguments, FILTER_DESCRIPTOR } from './bwrap-arguments.ts'
import { explainNamespaceFailure } from '../staging/explain-failure.ts'
import { Remembered } from '../../host/remembered.ts'

/** bubblewrap: namespaces and a seccomp filter around the guest, with or without root. */
export class ProcessRuntime implements LinkRuntime {
  readonly rung = 'process'
  readonly name = 'bubblewrap'
  readonly renames = 'keeper'
  readonly #program = new Remembered(() => findProgram('bwrap'))

  async probe(context: RuntimeContext): Promise<Probe> {
    const bwrap = await this.#find()
    if (bwrap === null) {
      return { available: false, reason: 'bubblewrap is not installed', fix: 'apt-get install bubblewrap' }
    }
    const version = await programVersion(bwrap)
    const trial = await tryLaunch(this, context)
    if (!trial.works) return { available: false, ...explainNamespaceFailure(trial.reason, context.facts) }
    return {
      available: true,
      label: version,
      capabilities: namespaceCapabilities(context.facts, trial.features),
      automatic: true,
      notes: limitNotes(context.facts),
    }
  }

  async plan(input: PlanInput, context: RuntimeContext): Promise<LaunchPlan> {
    const { request, idBase } = input
    const bwrap = await this.#find()
    if (bwrap === null) throw new HearthError('rung_unavailable', 'bubblewrap is not installed')
    const staged = await stageRoot(input, context)
    const { limits, hostname } = request
    return {
      argv: bwrapArguments({ bwrap, hostname, limits, staged }),
      environment: {},
      steps: staged.steps,
      userNamespace: enteredNamespace(idBase),
      files: [{ descriptor: FILTER_DESCRIPTOR, path: await filterFile(context.paths) }],
      cleanup: [],
      lane: true,
      cgroup: { memoryBytes: limits.memoryBytes, pids: limits.pids, cpus: limits.cpus },
    }
  }

  #find(): Promise<string | null> {
    return this.#program.get()
  }
}
