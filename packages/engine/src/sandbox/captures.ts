import type { ForkOptions, ForkResult, SandboxId, SnapshotInfo, SnapshotOptions } from '@hearth/contract'
import type { Comparisons } from '../diff/comparisons.ts'
import type { EmbeddedSandbox } from './embedded-sandbox.ts'

/** How sandboxes are captured, copied and compared: by whoever makes them. */
export interface Captures {
  readonly comparisons: Comparisons
  snapshot(sandbox: EmbeddedSandbox, options: SnapshotOptions): Promise<SnapshotInfo>
  fork(sandbox: EmbeddedSandbox, count: number, options: EngineForkOptions): Promise<ForkResult<EmbeddedSandbox>>
}

export type EngineForkOptions = ForkOptions & {
  /** Of the children. Default: new ones. They must never have been used before. */
  readonly ids?: readonly SandboxId[]
}
