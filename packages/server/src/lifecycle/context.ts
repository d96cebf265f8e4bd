import type { SnapshotId, VolumeId } from '@hearth/contract'
import type { Hearth } from '@hearth/engine'
import type { Records } from '../record/records.ts'
import type { Store } from '../state/index.ts'
import type { Admission } from './admission.ts'
import type { EarlyLaunches } from './early-launches.ts'
import type { LiveSandboxes } from './live-sandboxes.ts'
import type { WorkspaceServices } from '../workspaces/workspace-services.ts'
import type { WorkspaceStep } from '../workspaces/steps.ts'
import type { Step } from './steps.ts'

/** What all parts of the lifecycle share. */
export interface Context {
  readonly store: Store
  readonly hearth: Hearth
  /** Of this home. It owns the leases too: the lock of the home makes sure that one process at a time has it. */
  readonly hostId: string
  readonly leaseMs: number
  /** A host that was not heard of for this long is taken for gone. */
  readonly silentMs: number
  readonly live: LiveSandboxes
  readonly admission: Admission
  readonly records: Records
  readonly early: EarlyLaunches
  /** Creates, forks and snapshots under way in this process, by operation: who comes with the same key waits here. */
  readonly underWay: Map<string, Promise<unknown>>
  /** Snapshots that are being imported or removed in this process. */
  readonly snapshotsInWork: Set<SnapshotId>
  /** Volumes that are being removed in this process. */
  readonly volumesInWork: Set<VolumeId>
  /** Each tells volumes of this host that it has written down elsewhere than in `volumes`. */
  readonly volumeOwners: (() => Promise<Iterable<VolumeId>>)[]
  readonly workspaces: WorkspaceServices
  readonly step: (name: Step | WorkspaceStep) => void
  /** For what fails while nobody waits for it. */
  readonly report: (what: string, error: unknown) => void
}
