import type { Limits, Rung, SandboxId, VolumeMount } from '@hearth/contract'
import type { Machine, MachineNetwork } from '../machine/machine.ts'
import type { StoredSnapshot } from '../store/snapshot-manifest.ts'
import type { Progress, Template } from '../templates/template.ts'

/** How a limit is kept on a rung: by the kernel, by something of ours that looks from time to time, or not at all. */
export type Enforcement = 'enforced' | 'approximate' | 'none'

/** What a rung can do here. The conformance suite skips what is declared absent, and only that. */
export interface Capabilities {
  /** Real processes and native binaries. Without them only the built-in shell commands exist. */
  readonly processes: boolean
  readonly terminals: boolean
  /** More than one user inside. */
  readonly users: boolean
  /** TCP ports inside can be connected to. */
  readonly ports: boolean
  /** A killed host process can take the machine up again. */
  readonly reconnect: boolean
  /** Its processes can be stopped and go on later. */
  readonly pause: boolean
  /** Its files can be captured while it runs, and another machine can be started from them. */
  readonly snapshots: boolean
  /** So can its running processes. */
  readonly memory: boolean
  /** Volumes can be attached. */
  readonly volumes: boolean
  /** A command can be held to a narrower policy than its sandbox. */
  readonly narrowing: boolean
  /** It can be told which programs its processes execute. */
  readonly processRecord: boolean
  /** The `host` template works. */
  readonly hostTemplate: boolean
  readonly limits: Readonly<Record<'cpus' | 'memoryBytes' | 'pids' | 'diskBytes' | 'openFiles', Enforcement>>
}

/** Whether a driver works on this host, found out by trying. */
export type Probe =
  | {
      readonly available: true
      /** For example `crun 1.8.1`. */ readonly label: string
      readonly capabilities: Capabilities
      /** Chosen when nobody names a rung. False where it works but should be asked for, for example a microVM without KVM. */
      readonly automatic: boolean
      /** What a person should know, for example that there is no KVM. */ readonly notes: readonly string[]
    }
  | {
      readonly available: false
      readonly reason: string
      /** The command or setting that would make it work. */ readonly fix: string | null
    }

/** A volume that is the sandbox's by now. */
export interface AttachedVolume extends Pick<VolumeMount, 'path' | 'readOnly'> {
  /** Where its files lie on the host; they belong to ids from 0 on. SAFETY: what is in there may be hostile. */
  readonly files: string
}

/** Everything that a driver needs to start a machine. Already validated. */
export interface LaunchRequest {
  readonly id: SandboxId
  /** The sandbox's own directory on the host, made by the caller, mode 0700. */
  readonly directory: string
  readonly template: Template
  /** What it is made of instead of the bare template; with its processes when the manifest has memory. Only with `capabilities.snapshots`. */
  readonly from: StoredSnapshot | null
  readonly limits: Limits
  /** None, unless with `capabilities.volumes`. */
  readonly volumes: readonly AttachedVolume[]
  readonly hostname: string
  /** Base environment of every command. */
  readonly environment: Readonly<Record<string, string>>
  readonly workdir: string
  readonly user: string
  /** Absent when nothing can be reached. */
  readonly network?: MachineNetwork
  readonly signal?: AbortSignal
  /** Told when it has its files, and what it is made of may change again. */
  readonly diskMade?: () => void
  /** Told what takes long: the first machine of a template may need a disk image of it. */
  readonly progress?: Progress
}

/** What an unclaimed machine becomes. */
export type ClaimRequest = Pick<
  LaunchRequest,
  'limits' | 'hostname' | 'environment' | 'workdir' | 'user' | 'network' | 'signal'
>

/** A machine that runs and is nobody's yet. Whoever it was launched as is a name for the time until then. */
export interface UnclaimedMachine {
  readonly machine: Machine
  /** Resolves when it has confirmed that name, clock and randomness are its own, and has the rest too. When it fails, the machine is to be killed. */
  identify(request: ClaimRequest): Promise<void>
  /** Afterwards all that the host holds for it is this sandbox's, and its files lie in that directory, which must not exist before. */
  moveTo(id: SandboxId, directory: string): void
  /** What it holds of the host's memory; null where nothing counts it. */
  memoryBytes(): Promise<number | null>
}

/** One rung of the ladder on this host. */
export interface Driver {
  readonly rung: Rung
  /** `bubblewrap`, `crun`, `docker`, `runsc`, `qemu`, `just-bash`. */
  readonly name: string
  /** Tries, and remembers the answer; `fresh` tries again. */
  probe(options?: { readonly fresh?: boolean }): Promise<Probe>
  /** Resolves when the guest has answered and its limits are in force. */
  launch(request: LaunchRequest): Promise<Machine>
  /** As `launch`, for a machine that is claimed later, by a sandbox with the same template and limits. Absent where a name is given once. */
  readonly launchUnclaimed?: (request: LaunchRequest) => Promise<UnclaimedMachine>
  /**
   * Takes up a machine that another process launched, or throws `sandbox_ended`. Only with `capabilities.reconnect`. It is paused
   * or runs afterwards as `paused` says, whatever it did before.
   */
  adopt(id: SandboxId, directory: string, paused: boolean): Promise<Machine>
  /** Makes launches faster by preparing ahead; released by `dispose`. */
  prepare?(count: number): Promise<void>
  dispose?(): Promise<void>
}
