import type { Rung } from '@hearth/contract'
import type { HostFacts } from '../host/facts.ts'
import type { HostPaths } from '../host/host.ts'
import type { Progress, Template } from '../templates/template.ts'
import type { LaunchRequest, Probe } from './driver.ts'
import type { LaunchPlan, Step } from './launch-plan.ts'

/** The writable bytes of one sandbox on the host. They lie in `path`; `steps` make it and put its limit in force. */
export interface DiskArea {
  readonly path: string
  /** `quota`: a btrfs subvolume with a limit. `memory`: a tmpfs of that size, visible only behind the steps. `none`: unlimited. */
  readonly kind: 'quota' | 'memory' | 'none'
  readonly steps: readonly Step[]
}

/** Where a runtime plans its launches. */
export interface RuntimeContext {
  readonly paths: HostPaths
  readonly facts: HostFacts
}

export interface PlanInput {
  readonly request: LaunchRequest
  readonly disk: DiskArea
  /** First of 65536 ids on the host that belong to this sandbox alone; null when Hearth is not root. */
  readonly idBase: number | null
}

/** What distinguishes one link-speaking rung from another: whether it works here, and how a machine is started. */
export interface LinkRuntime {
  readonly rung: Rung
  readonly name: string
  /** It has a disk of its own, with its own limit or with none, and needs no area on the host. */
  readonly ownDisk?: boolean
  /** The keeper's cgroup does not hold the sandbox's own processes, so that what it counts says nothing of them. */
  readonly countedElsewhere?: boolean
  probe(context: RuntimeContext): Promise<Probe>
  /** Makes of a template what this rung starts from, once; nothing when it is there already. */
  prepareTemplate?(template: Template, context: RuntimeContext, progress: Progress): Promise<void>
  plan(input: PlanInput, context: RuntimeContext): Promise<LaunchPlan>
}
