import type { Sandbox, SandboxSpec } from '@hearth/contract'
import type { Model } from '../models/model.ts'
import type { Places } from './places.ts'

/** Makes sandboxes: the embedded engine and the client alike. */
export interface SandboxMaker {
  create(spec: SandboxSpec, options?: { readonly signal?: AbortSignal }): Promise<Sandbox>
}

export interface DelegateOptions {
  /** Makes fresh machines for sub-agents. Without it they work in forks of the machine of the run alone. */
  readonly hearth?: SandboxMaker
  /** For a run that is itself a sub-agent: it has its places of the run that it works for. */
  readonly places?: Places
  /** How long a machine of theirs outlives a process that does not renew it any more. Default a minute. */
  readonly leaseMs?: number
  /** The model of the sub-agents. Default: that of the run. */
  readonly model?: Model
}
