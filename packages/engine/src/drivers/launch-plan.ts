/** One step of the keeper before it executes the runtime; see the keeper's section of guest/protocol.md. */
export type Step =
  | { readonly kind: 'mkdir'; readonly path: string; readonly mode: number }
  | { readonly kind: 'chown'; readonly path: string; readonly uid: number; readonly gid: number }
  | { readonly kind: 'subvolume'; readonly path: string; readonly limitBytes: number }
  | { readonly kind: 'clone'; readonly source: string; readonly path: string; readonly limitBytes: number }
  | { readonly kind: 'group'; readonly path: string; readonly group: string; readonly limitBytes: number }
  | { readonly kind: 'copy'; readonly source: string; readonly path: string }
  | { readonly kind: 'fifo'; readonly path: string }
  | {
      readonly kind: 'bind'
      readonly source: string
      readonly target: string
      readonly options: readonly ('ro' | 'rec' | 'idmap' | 'inert')[]
    }
  | {
      readonly kind: 'overlay'
      readonly target: string
      readonly lower: string
      readonly upper: string
      readonly work: string
      readonly options: readonly ('idmap' | 'userxattr')[]
    }
  | { readonly kind: 'tmpfs'; readonly target: string; readonly data: string }
  | { readonly kind: 'unlinked' | 'place'; readonly root: string; readonly path: string }

/** What the runtime finds open under a number. */
export interface InheritedFile {
  readonly descriptor: number
  /** A file that is opened for reading; the name of a `socket` in the sandbox's directory. */
  readonly path: string
  /** `late`: opened after the steps, which may have made it. `socket`: listens. */
  readonly kind?: 'late' | 'socket'
}

/** What the keeper does to start a machine. A link driver is a probe and a function that gives one of these. */
export interface LaunchPlan {
  readonly argv: readonly string[]
  /** The whole environment of the runtime; nothing is inherited. */
  readonly environment: Readonly<Record<string, string>>
  readonly steps: readonly Step[]
  /** A user namespace of `count` ids from `base`; see flags 1 and 2 of KeeperLaunch. */
  readonly userNamespace: {
    readonly base: number
    readonly count: number
    readonly enter: boolean
    readonly rootless: boolean
  } | null
  readonly files: readonly InheritedFile[]
  /** Run after the end, for example `crun delete`. */
  readonly cleanup: readonly string[]
  /** Which limits the plan itself leaves to the cgroup of the keeper. */
  readonly cgroup: CgroupLimits | null
  /** It goes on from captured memory, and is given a new identity before it is handed out. */
  readonly restored?: boolean
  /** The runtime does without the system call membarrier; see flag 4 of KeeperLaunch. */
  readonly withoutMembarrier?: boolean
  /** The guest has the link itself as its standard input, so that it can be given a lane; see flag 16 of KeeperLaunch. */
  readonly lane?: boolean
  /** The runtime waits at a gate until it is claimed; see flag 8 of KeeperLaunch. */
  readonly ahead?: boolean
}

/** How a runtime that waits becomes a machine; see KeeperClaim. */
export interface ClaimPlan {
  /** Done where the runtime is. */
  readonly steps: readonly Step[]
  /** The first argument of the process that serves the root. */
  readonly server: string
  readonly root: string
  /** Shown below the root, read-only. */
  readonly binds: readonly { readonly source: string; readonly target: string }[]
  readonly gate: string
  readonly cgroup: CgroupLimits
}

/** Limits that a cgroup keeps, v1 or v2. Sizes include what the runtime itself needs. */
export interface CgroupLimits {
  readonly memoryBytes: number
  readonly pids: number
  readonly cpus: number
}
