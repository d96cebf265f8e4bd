import { z } from 'zod'

const KiB = 1024
const MiB = 1024 * KiB
const GiB = 1024 * MiB

/** What one sandbox may use. Every field has a default here and a conformance test that reaches it. */
export interface Limits {
  /** Processor time, in cores. Default 1. */
  readonly cpus: number
  /** Memory of all processes together, in bytes. Default 1 GiB. */
  readonly memoryBytes: number
  /** Processes and threads alive at once. Default 512. */
  readonly pids: number
  /** Bytes that the sandbox may write to its root. Default 2 GiB. */
  readonly diskBytes: number
  /** Open files per process. Default 4096. */
  readonly openFiles: number
  /** Bytes of output that one `exec` returns; more is counted and marked `truncated`. Default 8 MiB. */
  readonly outputBytes: number
  /** Longest run of one `exec`, in milliseconds. What `spawn` starts may run as long as its sandbox. Default 10 minutes. */
  readonly wallTimeMs: number
}

export const DEFAULT_LIMITS: Limits = {
  cpus: 1,
  memoryBytes: 1 * GiB,
  pids: 512,
  diskBytes: 2 * GiB,
  openFiles: 4096,
  outputBytes: 8 * MiB,
  wallTimeMs: 10 * 60_000,
}

export const limitsSchema = z
  .strictObject({
    cpus: z.number().min(0.1).max(256),
    memoryBytes: z
      .int()
      .min(32 * MiB)
      .max(1024 * GiB),
    pids: z.int().min(16).max(100_000),
    diskBytes: z
      .int()
      .min(16 * MiB)
      .max(16_384 * GiB),
    openFiles: z.int().min(64).max(1_048_576),
    outputBytes: z
      .int()
      .min(1 * KiB)
      .max(256 * MiB),
    wallTimeMs: z
      .int()
      .min(1)
      .max(7 * 24 * 3_600_000),
  })
  .partial()

/** Bounds that are the same for every sandbox: what a request, a frame or a retained log may weigh. */
export const BOUNDS = {
  /** Payload of one frame on the link. */
  frameBytes: 128 * KiB,
  /** Bytes in flight per channel and direction before the receiver must grant more. */
  channelWindowBytes: 256 * KiB,
  /** Open channels on one link. */
  channels: 4096,
  /** Output that the guest retains per process for re-attachment; the oldest bytes go first. */
  retainedOutputBytes: 1 * MiB,
  /** Ended processes whose output the guest retains; the oldest goes first. */
  retainedProcesses: 256,
  /** Bytes of argv and environment of one command together. */
  commandBytes: 96 * KiB,
  /** A path. */
  pathBytes: 4096,
  /** Directories below one recursive watch. */
  watchedDirectories: 8192,
  /** Lifetime of a sandbox when none is given. */
  defaultTtlMs: 3_600_000,
  /** Longest lifetime. */
  maximumTtlMs: 30 * 24 * 3_600_000,
  /** Children of one fork. */
  children: 64,
  /** Sandboxes that one answer about who was forked from whom names. */
  lineage: 10_000,
  /** How far up those that a living sandbox was forked from are remembered after their end. */
  ancestors: 64,
  /** Levels of holders of grants below one that has none. */
  delegationDepth: 8,
  /** Sandboxes that a grant can speak of. */
  delegatedSandboxes: 100_000,
  /** Keys that one with a grant may have made and that still work. */
  delegatedKeys: 64,
  /** Secrets of one sandbox. */
  secrets: 64,
  /** Volumes of one sandbox. */
  volumes: 4,
  /** What may be written to a volume when nothing else was said. */
  volumeDiskBytes: 4 * GiB,
  /** A call of the API of a forge, from the name to the end of the answer, and the bytes of the answer. */
  forgeMs: 30_000,
  forgeAnswerBytes: 1 * MiB,
  /** What one repository may take on the host, and how long one call of git may speak to its server. */
  repositoryBytes: 16 * GiB,
  repositoryTransferMs: 600_000,
  /** How long a server of git may take to say what its default branch is, with which every fetch begins. */
  repositoryAnswerMs: 60_000,
  /** The memory of a program that speaks to a server of git, without the packs that it has mapped. */
  repositoryMemoryBytes: 4 * GiB,
  /** Servers of git whose keys one tenant has pinned. */
  hostKeys: 1000,
  /** Repositories and workspaces of one tenant. */
  repositories: 1000,
  workspaces: 10_000,
  /** Of a workspace in a commit or a diff: changed files, their bytes in all, and those of one; larger ones are left out and named. */
  workspaceChanges: 200_000,
  workspaceChangedBytes: 2 * GiB,
  workspaceFileBytes: 100 * MiB,
  /** Paths that cannot be in a commit and are named. */
  workspaceSkipped: 1000,
  /** Files with rules about what is ignored, and the bytes of one. */
  workspaceIgnoreFiles: 1000,
  workspaceIgnoreBytes: 1 * MiB,
  /** A patch of a workspace. */
  workspacePatchBytes: 64 * MiB,
  /** How long what the server of a repository said counts as new. */
  repositoryFreshMs: 60_000,
  /** Names that one sandbox has asked for and may reach; further ones are not found. */
  gatewayNames: 1024,
  /** Connections out of one sandbox at one time; a policy may say fewer. */
  gatewayConnections: 1024,
  /** Lookups of names by the host: for how long, for how long an answer is good, and how many for one sandbox at one time. */
  lookupMs: 5000,
  lookupKeptMs: 1500,
  lookupsAtOnce: 2,
  /** When a connection that stays open is written down, and how often how much has passed in it. */
  connectionOpenedMs: 1000,
  connectionProgressMs: 60_000,
  /** Commands of one sandbox that have a narrower policy of their own, at one time, and the length of such a policy. */
  narrowedCommands: 256,
  narrowedPolicyBytes: 64 * KiB,
  /** Events of one run of an agent, their bytes in all, and those of one. Its end is still written down. */
  runEvents: 50_000,
  runBytes: 256 * MiB,
  runEventBytes: 16 * MiB,
  /** Events that are appended at once. */
  runBatch: 1000,
  /** Files of a working directory that changes are counted in, and their content: without `.git` and without what is ignored. */
  agentFiles: 200_000,
  agentFileBytes: 1 * GiB,
  /** Of what changes are counted in, with everything that is left out: entries, their content, and the bytes of all names. */
  agentArchiveEntries: 2_000_000,
  agentArchiveBytes: 64 * GiB,
  agentArchiveNameBytes: 256 * MiB,
  /** The index of a repository, which names the files that are tracked although they are ignored. */
  agentIndexBytes: 64 * MiB,
  /** A patch that is kept with its run, and the changed files that are listed with it. */
  runPatchBytes: 8 * MiB,
  runFiles: 1000,
  /** Characters of a task, and of a message to a run. */
  runTaskCharacters: 200_000,
  runMessageCharacters: 64 * KiB,
  /** Messages to one run. */
  runMessages: 10_000,
  /** Rules about the tools of one run, and the characters of a name or a pattern in one. */
  runPermissions: 100,
  runPermissionCharacters: 4096,
  /** Runs of one tenant that have not ended. */
  liveRuns: 1000,
  /** How long a process may say nothing before another may go on with its run: by default, and at the most. */
  runLeaseMs: 30_000,
  longestRunLeaseMs: 600_000,
  /** Sub-agents that one call asks for, and those of one run with all below it. */
  delegatedTasks: 8,
  subAgents: 100,
  /** Characters that a model is shown of what its sub-agents say, for one call together. */
  subAgentCharacters: 8000,
  /** How long the machine of a sub-agent outlives a process that does not renew it any more. */
  subAgentLeaseMs: 60_000,
  /** Candidates of one search. */
  searchCandidates: 256,
  /** How long a fork of a search outlives a process that does not renew it any more. */
  searchLeaseMs: 60_000,
  /** The longest that judging one change once may take. */
  searchJudgeMs: 30 * 60_000,
  /** Time from launch until the guest must have answered. */
  bootTimeoutMs: 60_000,
} as const
