import type {
  ForkOptions,
  ForkResult,
  MemoryMode,
  MemoryOutcome,
  SandboxId,
  SleepOptions,
  SnapshotId,
  SnapshotInfo,
  SnapshotOptions,
  VolumeId,
} from '@hearth/contract'
import type { Comparisons } from '../diff/comparisons.ts'
import type { Captured, WhileStill } from '../machine/machine.ts'
import type { CapturedInterpreter } from '../store/snapshot-manifest.ts'
import type { EmbeddedSandbox } from './embedded-sandbox.ts'
import type { UnownedRecord } from './sandbox-record.ts'

/** A sandbox as a capture sees it. */
export interface Capturable {
  readonly record: UnownedRecord
  /** Writes what it is now into the directory of a snapshot. It goes on, and is paused afterwards if it was. */
  capture(
    directory: string,
    memory: MemoryMode,
    still?: WhileStill,
  ): Promise<Captured & { readonly interpreters: CapturedInterpreter[] }>
}

/** How sandboxes are captured, copied and compared: by whoever makes them. */
export interface Captures {
  readonly comparisons: Comparisons
  snapshot(sandbox: EmbeddedSandbox, options: EngineSnapshotOptions): Promise<SnapshotInfo>
  fork(sandbox: EmbeddedSandbox, count: number, options: EngineForkOptions): Promise<ForkResult<EmbeddedSandbox>>
  hibernate(sandbox: EmbeddedSandbox, options: SleepOptions): Promise<MemoryOutcome>
}

export type EngineSnapshotOptions = SnapshotOptions & {
  /** Default: a new one. It must never have been used before. */
  readonly id?: SnapshotId
}

export type EngineForkOptions = ForkOptions & {
  /** Of the children. Default: new ones. They must never have been used before. */
  readonly ids?: readonly SandboxId[]
  /** Of the volumes of each child, in the order of those that the parent may write to. Default: new ones. */
  readonly volumeIds?: readonly (readonly VolumeId[])[]
}
