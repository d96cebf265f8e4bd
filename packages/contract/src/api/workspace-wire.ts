import { z } from 'zod'
import { FORGES, forgeSchema, LIFETIMES, REPOSITORY_STATES, WORKSPACE_STATES } from '../workspaces.ts'

export const repositoryViewSchema = z
  .object({
    id: z.string(),
    state: z.enum(REPOSITORY_STATES),
    /** One of both is null. */
    url: z.string().nullable(),
    path: z.string().nullable(),
    secret: z.string().nullable(),
    forge: forgeSchema.nullable(),
    /** With which pull requests are made, where `secret` is a key of ssh. */
    forgeSecret: z.string().nullable(),
    defaultBranch: z.string().nullable(),
    /** What the cache takes. */
    bytes: z.number(),
    createdAt: z.iso.datetime(),
    fetchedAt: z.iso.datetime().nullable(),
    usedAt: z.iso.datetime(),
    /** Why it failed. */
    reason: z.string().nullable(),
  })
  .meta({ id: 'Repository' })
export type RepositoryView = z.output<typeof repositoryViewSchema>

/** A server of git whose key was taken when it was first spoken to with ssh. */
export const hostKeyViewSchema = z
  .object({
    /** As in lists of known hosts: `host`, or `[host]:port`. */
    host: z.string(),
    /** For example `ssh-ed25519 AAAA...`. */
    key: z.string(),
    pinnedAt: z.iso.datetime(),
  })
  .meta({ id: 'HostKey' })
export type HostKeyView = z.output<typeof hostKeyViewSchema>

export const pullRequestViewSchema = z
  .object({ forge: z.enum(FORGES), number: z.number(), url: z.string(), branch: z.string(), base: z.string() })
  .meta({ id: 'PullRequest' })
export type PullRequestView = z.output<typeof pullRequestViewSchema>

export const workspaceViewSchema = z
  .object({
    id: z.string(),
    state: z.enum(WORKSPACE_STATES),
    repository: z.string(),
    volume: z.string(),
    /** The branch that it is pushed as. */
    branch: z.string(),
    /** The commit that it was made of. */
    base: z.string(),
    /** The last commit that was made of it on the host; null before the first. */
    head: z.string().nullable(),
    pushed: z.object({ branch: z.string(), commit: z.string() }).nullable(),
    pullRequest: pullRequestViewSchema.nullable(),
    /** The workspace that it was forked of. */
    parent: z.string().nullable(),
    lifetime: z.enum(LIFETIMES),
    pinned: z.boolean(),
    /** The sandbox that has it. */
    sandbox: z.string().nullable(),
    diskBytes: z.number(),
    createdAt: z.iso.datetime(),
    usedAt: z.iso.datetime(),
    /** Of one that was evicted with changes: what is kept of them. `diff` gives it. */
    rescued: z.object({ bytes: z.number(), at: z.iso.datetime() }).nullable(),
  })
  .meta({ id: 'Workspace' })
export type WorkspaceView = z.output<typeof workspaceViewSchema>

const changedFileSchema = z.object({
  path: z.string(),
  /** Lines; null for what is not text. */
  added: z.number().nullable(),
  removed: z.number().nullable(),
})

/** Found out at the moment of the call from the files themselves. */
export const workspaceStatusSchema = z
  .object({
    /** Its files differ from the last commit, or from its base where there is none. */
    dirty: z.boolean(),
    /** There are changes that nobody has outside of this host. */
    unpushed: z.boolean(),
    /** Since the base. */
    files: z.array(changedFileSchema),
    /** What is in it and cannot be in a commit, with the reason: also commits that were made inside and are nowhere else. */
    skipped: z.array(z.object({ path: z.string(), reason: z.string() })),
  })
  .meta({ id: 'WorkspaceStatus' })
export type WorkspaceStatus = z.output<typeof workspaceStatusSchema>

export const DIFF_SINCE = ['base', 'commit'] as const
/** `commit`: since the last commit that was made of it. */
export type DiffSince = (typeof DIFF_SINCE)[number]

export const workspaceDiffSchema = z
  .object({
    /** The commit that it is compared with. */
    since: z.string(),
    files: z.array(changedFileSchema),
    /** For `git apply`, with binary files in it. */
    patch: z.base64(),
    skipped: z.array(z.object({ path: z.string(), reason: z.string() })),
  })
  .meta({ id: 'WorkspaceDiff' })
export type WorkspaceDiffView = z.output<typeof workspaceDiffSchema>

export const commitViewSchema = z
  .object({
    commit: z.string(),
    /** False when nothing had changed since the last one, which is the one that is named. */
    created: z.boolean(),
  })
  .meta({ id: 'CommitResult' })
export type CommitView = z.output<typeof commitViewSchema>

export const pushViewSchema = z.object({ branch: z.string(), commit: z.string() }).meta({ id: 'PushResult' })
export type PushView = z.output<typeof pushViewSchema>

export const pullRequestResultSchema = pullRequestViewSchema
  .extend({
    /** False when there was one for this branch already. */
    created: z.boolean(),
  })
  .meta({ id: 'PullRequestResult' })
export type PullRequestResult = z.output<typeof pullRequestResultSchema>

export const collectRequestSchema = z
  .strictObject({
    /** Only those that nobody has used for this long. Default: a day. */
    unusedMs: z.int().min(0).max(Number.MAX_SAFE_INTEGER).optional(),
    /** Also those with changes, after these were saved as a patch. */
    dirty: z.boolean().optional(),
    /** False: only caches of repositories, and checkouts that workspaces are made of. */
    workspaces: z.boolean().optional(),
    /** Says what would go, and lets all stay. */
    dryRun: z.boolean().optional(),
  })
  .meta({ id: 'Collect' })
export type CollectRequest = z.input<typeof collectRequestSchema>

export const collectedSchema = z
  .object({
    workspaces: z.array(z.object({ id: z.string(), rescued: z.boolean() })),
    repositories: z.array(z.string()),
    /** Checkouts that were kept to make workspaces of. */
    seeds: z.number(),
  })
  .meta({ id: 'Collected' })
export type Collected = z.output<typeof collectedSchema>

export const volumeViewSchema = z
  .object({
    id: z.string(),
    name: z.string().nullable(),
    lifetime: z.enum(LIFETIMES),
    /** What it may hold. */
    diskBytes: z.number(),
    usedBytes: z.number(),
    /** The workspace whose files it holds; null for one that is a volume alone. */
    workspace: z.string().nullable(),
    /** The sandbox that has it for writing. */
    sandbox: z.string().nullable(),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'Volume' })
export type VolumeView = z.output<typeof volumeViewSchema>
