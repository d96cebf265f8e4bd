import type { Limits, Rung, SandboxId } from '@hearth/contract'
import type { HostFacts } from '../host/facts.ts'
import type { OnProblem } from '../host/in-background.ts'
import type { HostPaths } from '../host/host.ts'
import type { PreparedKeeper } from '../host/keeper.ts'
import type { AreaForm } from '../store/disk-area.ts'
import type { MemoryCapture, SnapshotManifest, StoredSnapshot } from '../store/snapshot-manifest.ts'
import type { Progress, Template } from '../templates/template.ts'
import type { LaunchRequest, Probe } from './driver.ts'
import type { ClaimPlan, LaunchPlan, Step } from './launch-plan.ts'
import type { LinkServices } from './link-driver.ts'

/** The writable bytes of one sandbox on the host. They lie in `path`; `steps` make it and put its limit in force. */
export interface DiskArea {
  readonly path: string
  /** `quota`: a btrfs subvolume with a limit. `memory`: a tmpfs of that size, visible only behind the steps. `none`: unlimited. */
  readonly kind: 'quota' | 'memory' | 'none'
  readonly steps: readonly Step[]
  /** Done when the root of the sandbox is made, before anything runs in it. */
  readonly lastSteps?: readonly Step[]
  /** Directories of snapshots that its root shows below the area and above the template, the topmost first. */
  readonly layers: readonly string[]
}

/** Where a runtime plans its launches. */
export interface RuntimeContext {
  readonly paths: HostPaths
  readonly facts: HostFacts
  /** Told of what fails and does not keep a launch from going on. */
  readonly onProblem: OnProblem
}

export interface PlanInput {
  readonly request: LaunchRequest
  readonly disk: DiskArea
  /** First of 65536 ids on the host that belong to this sandbox alone; null when Hearth is not root. */
  readonly idBase: number | null
}

export interface CaptureInput {
  readonly id: SandboxId
  /** Of the sandbox that is captured. */
  readonly sandboxDirectory: string
  /** Of the snapshot. The runtime's files go into `memory` below it, which it makes. */
  readonly directory: string
  /** Takes the disk. Called once, while the machine stands still. */
  readonly captureDisk: () => Promise<void>
  /** Null: it goes on. Otherwise it stands still for good once its capture is whole, and this stops what is left of it: called last. */
  readonly stop: (() => Promise<void>) | null
}

export interface RestoreInput extends PlanInput {
  /** Its manifest has memory. */
  readonly from: StoredSnapshot
}

/** A runtime that was started before it was known for which machine, and waits. */
export interface AheadRuntime {
  readonly keeper: PreparedKeeper
  readonly idBase: number
}

/** Runtimes that are started ahead of time, because starting one is most of a restore. */
export interface AheadRuntimes {
  /** One that can become a machine of this template; null when none is ready. It is the caller's. More are started later, in the background. */
  take(template: Template, services: LinkServices): AheadRuntime | null
  /** As `planRestore`. */
  planClaim(input: RestoreInput, context: RuntimeContext): Promise<ClaimPlan>
  /** Ends those that wait. */
  dispose(): Promise<void>
}

/** How a rung keeps the running processes of a machine. */
export interface RuntimeMemory {
  /** Why this machine cannot be captured now; null when it can. */
  obstacle(
    input: { readonly id: SandboxId; readonly sandboxDirectory: string },
    context: RuntimeContext,
  ): Promise<string | null>
  /**
   * Called with the guest frozen: it has sent its last frame, and gets none. Stops the machine, writes its memory, calls `captureDisk` while it
   * stands still, and lets it go on unless it shall stop, always when something fails. `pausedMs` is how long it stood still.
   */
  capture(
    input: CaptureInput,
    context: RuntimeContext,
  ): Promise<{ readonly pausedMs: number; readonly memory: MemoryCapture }>
  /** As `plan`, for a machine that goes on where the captured one stood still. It is greeted with Hello, which thaws it. */
  planRestore(input: RestoreInput, context: RuntimeContext): Promise<LaunchPlan>
  /** Lets a machine go on that stands still since a capture, or whose engine died in one. Nothing when it runs. */
  recover?(input: { readonly id: SandboxId; readonly sandboxDirectory: string }, context: RuntimeContext): Promise<void>
  /** Throws `snapshot_incompatible`, and says what differs, when it cannot be restored here with these limits. */
  check(manifest: SnapshotManifest, limits: Limits, context: RuntimeContext): Promise<void>
  /** Where a restore becomes faster by it. */
  readonly ahead?: AheadRuntimes
}

/** What distinguishes one link-speaking rung from another: whether it works here, and how a machine is started. */
export interface LinkRuntime {
  readonly rung: Rung
  readonly name: string
  /** It has a disk of its own, with its own limit or with none, and needs no area on the host. */
  readonly ownDisk?: boolean
  /** Who can give a running machine another hostname. Absent: nobody. */
  readonly renames?: 'guest' | 'keeper'
  /** Who mounts the volumes in the sandbox. Absent: its runtime does, when it starts. */
  readonly attaches?: 'guest'
  /** What lies in its area. Default `files`, the directories of an overlay. */
  readonly diskForm?: AreaForm
  /** The keeper's cgroup does not hold the sandbox's own processes, so that what it counts says nothing of them. */
  readonly countedElsewhere?: boolean
  probe(context: RuntimeContext): Promise<Probe>
  /** Makes of a template what this rung starts from, once; nothing when it is there already. */
  prepareTemplate?(template: Template, context: RuntimeContext, progress: Progress): Promise<void>
  plan(input: PlanInput, context: RuntimeContext): Promise<LaunchPlan>
  /** The stream of WatchProcesses of the machine in that directory, where `capabilities.processRecord` is declared and it is not the guest that tells. */
  traceProcesses?(sandboxDirectory: string, context: RuntimeContext, signal: AbortSignal): AsyncGenerator<Uint8Array>
  /** Only where `capabilities.memory` is declared. */
  readonly memory?: RuntimeMemory
  /** Why it cannot, where there is more to say than that. */
  readonly noMemory?: string
}
