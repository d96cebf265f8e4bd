import { z } from 'zod'
import { newId } from './ids.ts'
import { secretNameSchema } from './secrets.ts'
import { volumeNameSchema } from './volumes.ts'

export type RepositoryId = string & { readonly __brand: 'RepositoryId' }
export type WorkspaceId = string & { readonly __brand: 'WorkspaceId' }

const CHARACTERS = '[0-9a-hjkmnp-tv-z]{20}'

export const repositoryIdSchema = z
  .string()
  .regex(new RegExp(`^repo_${CHARACTERS}$`))
  .transform((id) => id as RepositoryId)

export const workspaceIdSchema = z
  .string()
  .regex(new RegExp(`^ws_${CHARACTERS}$`))
  .transform((id) => id as WorkspaceId)

export function newRepositoryId(): RepositoryId {
  return newId('repo') as RepositoryId
}

export function newWorkspaceId(): WorkspaceId {
  return newId('ws') as WorkspaceId
}

/** What git takes for a name of a branch, and no server takes for an option or for something of its own. */
// eslint-disable-next-line no-control-regex
const REF_NAME = /^(?![-/.@])(?!.*(\.\.|\/\/|\/\.|@\{|\.lock(\/|$)))[^\x00-\x20\x7f~^:?*[\\]{1,200}(?<![/.])$/

export const branchNameSchema = z
  .string()
  .regex(REF_NAME, 'must be the name of a branch')
  .refine((name) => name !== 'HEAD', 'must be the name of a branch')

/** A branch, a tag or a whole commit identifier. */
export const revisionSchema = z.string().regex(REF_NAME, 'must be a branch, a tag or a commit')

export const remoteUrlSchema = z.string().min(1).max(2048)
/** Absolute, on the host of the server. */
export const hostPathSchema = z
  .string()
  .max(4096)
  .regex(/^\/[^\0]*$/, 'must be absolute and must not contain NUL')

export const FORGES = ['github', 'gitlab'] as const
export type ForgeKind = (typeof FORGES)[number]

/** Whose API makes pull requests. Known for github.com and gitlab.com; `apiUrl` where it is not at its usual place of that host. */
export const forgeSchema = z.strictObject({ kind: z.enum(FORGES), apiUrl: z.url().max(2048).optional() })
export type Forge = z.output<typeof forgeSchema>

export const REPOSITORY_STATES = ['cloning', 'ready', 'failed', 'cold', 'deleting'] as const
/** `cold`: its cache was given up, and the next use clones it again. */
export type RepositoryState = (typeof REPOSITORY_STATES)[number]

export const WORKSPACE_STATES = ['creating', 'ready', 'evicting', 'evicted', 'deleting'] as const
/** `evicted`: its files are gone; what had changed in them is kept as a patch. */
export type WorkspaceState = (typeof WORKSPACE_STATES)[number]

export const LIFETIMES = ['durable', 'sandbox'] as const
/** `sandbox`: it is removed together with the sandbox that it was made for. */
export type Lifetime = (typeof LIFETIMES)[number]

/** Where a repository is, and which secret opens it. */
const locationFields = {
  /** `https://...` without credentials, or `ssh://user@host/path` and `user@host:path`, which need a secret. */
  url: remoteUrlSchema.optional(),
  /** A repository on the host of the server. Needs the scope `operator`. */
  path: hostPathSchema.optional(),
  /** The name of a secret that is bound to that host with `basic`, or with `ssh` for an address of ssh. Only the host ever uses it. */
  secret: secretNameSchema.optional(),
  forge: forgeSchema.optional(),
  /** With an address of ssh: the secret that is bound with `basic`, with which pull requests are made. */
  forgeSecret: secretNameSchema.optional(),
}

function namesOne(value: Readonly<Record<string, unknown>>, names: readonly string[]): boolean {
  return names.filter((name) => value[name] !== undefined).length === 1
}

export const addRepositorySchema = z
  .strictObject(locationFields)
  .refine((value) => namesOne(value, ['url', 'path']), 'needs either url or path')
  .meta({ id: 'AddRepository' })
export type AddRepository = z.input<typeof addRepositorySchema>

export const FETCH_MODES = ['auto', 'always', 'never'] as const
export type FetchMode = (typeof FETCH_MODES)[number]

const GiB = 1024 ** 3

const workspaceSourceFields = z.strictObject({
  repository: repositoryIdSchema.optional(),
  ...locationFields,
  /** Default: the default branch. */
  ref: revisionSchema.optional(),
  /** Its own branch. Default `hearth/` and the end of its identifier. */
  branch: branchNameSchema.optional(),
  /** Whether the server is asked first. `auto`: when it was not for a minute, or does not know the ref. */
  fetch: z.enum(FETCH_MODES).optional(),
  diskBytes: z
    .int()
    .min(16 * 1024 * 1024)
    .max(16_384 * GiB)
    .optional(),
})

/** What a workspace is made of: a repository that is known, or one that becomes known by this. */
export const workspaceSourceSchema = workspaceSourceFields
  .refine((value) => namesOne(value, ['repository', 'url', 'path']), 'needs one of repository, url and path')
  .meta({ id: 'WorkspaceSource' })
export type WorkspaceSource = z.input<typeof workspaceSourceSchema>

/** Where a workspace is in a sandbox. */
export const WORKSPACE_PATH = '/workspace'

const personSchema = z.strictObject({
  // eslint-disable-next-line no-control-regex
  name: z.string().regex(/^[^\x00-\x1f<>]{1,200}$/),
  // eslint-disable-next-line no-control-regex
  email: z.string().regex(/^[^\x00-\x20<>]{1,200}$/),
})

export const commitRequestSchema = z
  .strictObject({
    message: z
      .string()
      .min(1)
      .max(65_536)
      .regex(/^[^\0]*\S[^\0]*$/),
    author: personSchema.optional(),
  })
  .meta({ id: 'Commit' })
export type CommitRequest = z.input<typeof commitRequestSchema>

export const pushRequestSchema = z
  .strictObject({
    /** On the server. Default: the branch of the workspace. */
    branch: branchNameSchema.optional(),
    /** Also when the branch there has commits that are not in this one. */
    force: z.boolean().optional(),
  })
  .meta({ id: 'Push' })
export type PushRequest = z.input<typeof pushRequestSchema>

export const pullRequestRequestSchema = z
  .strictObject({
    title: z.string().min(1).max(1000),
    body: z.string().max(262_144).optional(),
    /** Default: the default branch of the repository. */
    base: branchNameSchema.optional(),
    draft: z.boolean().optional(),
  })
  .meta({ id: 'CreatePullRequest' })
export type PullRequestRequest = z.input<typeof pullRequestRequestSchema>

export const updateWorkspaceSchema = z
  .strictObject({
    /** One that is pinned is never evicted. */
    pinned: z.boolean().optional(),
    /** `durable` keeps the workspace of a fork when its sandbox ends. */
    lifetime: z.literal('durable').optional(),
    branch: branchNameSchema.optional(),
  })
  .meta({ id: 'UpdateWorkspace' })
export type UpdateWorkspace = z.input<typeof updateWorkspaceSchema>

export const createVolumeSchema = z
  .strictObject({ name: volumeNameSchema.optional(), diskBytes: workspaceSourceFields.shape.diskBytes })
  .meta({ id: 'CreateVolume' })
export type CreateVolume = z.input<typeof createVolumeSchema>
