import type { ForkOptions, ForkResult, SandboxId, SnapshotId, SnapshotInfo, SnapshotOptions } from '@hearth/contract'
import type { Comparisons } from '../diff/comparisons.ts'
import type { EmbeddedSandbox } from './embedded-sandbox.ts'

/** How sandboxes are captured, copied and compared: by whoever makes them. */
export interface Captures {
  readonly comparisons: Comparisons
  snapshot(sandbox: EmbeddedSandbox, options: EngineSnapshotOptions): Promise<SnapshotInfo>
  fork(sandbox: EmbeddedSandbox, count: number, options: EngineForkOptions): Promise<ForkResult<EmbeddedSandbox>>
}

export type EngineSnapshotOptions = SnapshotOptions & {
  /** Default: a new one. It must never have been used before. */
  readonly id?: SnapshotId
}

export type EngineForkOptions = ForkOptions & {
  /** Of the children. Default: new ones. They must never have been used before. */
  readonly ids?: readonly SandboxId[]
}
