import { z } from 'zod'
import { BOUNDS, limitsSchema } from '../limits.ts'
import { policySchema } from '../policy.ts'
import { RUNGS, rungSchema } from '../rungs.ts'
import { guestPathSchema } from '../sandbox-spec.ts'
import { secretNameSchema } from '../secrets.ts'

const anything = z.literal('any')

/** A directory or file and all below it. Written in one way only, so that two can be compared as texts. */
const grantedPathSchema = guestPathSchema.refine(
  (path) =>
    path === '/' ||
    path
      .slice(1)
      .split('/')
      .every((part) => part !== '' && part !== '.' && part !== '..'),
  'must not end with `/` and must not hold `//`, `.` or `..`',
)
const pathsSchema = z.union([anything, z.array(grantedPathSchema).max(256)])

const count = z.int().min(0).max(Number.MAX_SAFE_INTEGER)

/** What a holder and all below it may use together. Null: as much as it likes. */
const grantBudgetSchema = z.strictObject({
  /** Calls of a model. */
  steps: count.nullable(),
  tokens: count.nullable(),
  dollars: z.number().min(0).max(1e12).nullable(),
  /** The lifetimes of its sandboxes, added up. */
  wallTimeMs: count.nullable(),
})
export type GrantBudget = z.output<typeof grantBudgetSchema>

/** What the holder of a key, a sandbox or a sub-agent may do. */
export const grantSchema = z.strictObject({
  /** The widest policy of any of its sandboxes. `any`: whatever it likes. */
  policy: z.union([anything, policySchema]),
  /** Secrets that its sandboxes may use, by name. */
  secrets: z.union([anything, z.array(secretNameSchema).max(BOUNDS.secrets)]),
  /** What of a workspace may come into its sandboxes, and what of it may be changed. */
  paths: z.strictObject({ read: pathsSchema, write: pathsSchema }),
  /** Tools that an agent has, by name. */
  tools: z.union([anything, z.array(z.string().min(1).max(128)).max(256)]),
  /** The weakest rung of its sandboxes. */
  atLeast: rungSchema,
  templates: z.union([anything, z.array(z.string().min(1).max(512)).max(256)]),
  budget: grantBudgetSchema,
  /** Ends with all that was made under it. */
  deadline: z.iso.datetime({ offset: true }).nullable(),
  /** The longest life of one sandbox, from its beginning on, however often it is renewed. */
  ttlMs: z.int().min(1000).max(BOUNDS.maximumTtlMs),
  /** Levels of holders that may come below this one; 0: it cannot pass anything on. */
  depth: z.int().min(0).max(BOUNDS.delegationDepth),
  /** Sandboxes at one time, of this holder and all below it. */
  children: z.int().min(0).max(BOUNDS.delegatedSandboxes),
  /** The most that one sandbox may have of each. */
  limits: limitsSchema,
})
export type Grant = z.output<typeof grantSchema>

/** What a holder is to get. What is left out: no names, no secrets, no further levels, a few sandboxes; of all else as much as who gives it has. */
export const grantRequestSchema = grantSchema
  .extend({ paths: grantSchema.shape.paths.partial(), budget: grantBudgetSchema.partial() })
  .partial()
  .meta({ id: 'GrantRequest' })
export type GrantRequest = z.output<typeof grantRequestSchema>

/** Sandboxes at one time where a request does not say how many. */
export const DEFAULT_DELEGATED_SANDBOXES = 8

/** Of whoever has no grant: what it may do is limited elsewhere. */
export const EVERYTHING: Grant = {
  policy: 'any',
  secrets: 'any',
  paths: { read: 'any', write: 'any' },
  tools: 'any',
  atLeast: RUNGS[0],
  templates: 'any',
  budget: { steps: null, tokens: null, dollars: null, wallTimeMs: null },
  deadline: null,
  ttlMs: BOUNDS.maximumTtlMs,
  depth: BOUNDS.delegationDepth,
  children: BOUNDS.delegatedSandboxes,
  limits: {},
}

/** One way in which something asks for more than a grant has. */
export interface Exceeded {
  /** The field of the grant, for example `budget.steps`. */
  readonly field: string
  readonly asked: string
  /** What would have been possible. */
  readonly allowed: string
}
