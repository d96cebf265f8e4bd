import { z } from 'zod'

/**
 * A host name as rules write it: exact (`api.example.com`) or everything below a suffix (`*.example.com`, without `example.com` itself).
 * Never an address: the last label has a letter in it, so that no spelling of a number passes.
 */
export const namePatternSchema = z
  .string()
  .max(255)
  .transform((name) => name.toLowerCase().replace(/\.$/, ''))
  .pipe(
    z
      .string()
      .max(253)
      .regex(
        /^(\*\.)?([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)*(?!0x)[a-z0-9-]*[a-z][a-z0-9-]*$/,
        'must be a host name such as `api.example.com` or `*.example.com`, never an address',
      ),
  )

const portSchema = z.int().min(1).max(65_535)

/** `NAME` or `NAME:PORT`, as on the command line. */
const shortRuleSchema = z
  .string()
  .max(262)
  .regex(/^[^:]+(:\d{1,5})?$/, 'must be NAME or NAME:PORT')

export const HTTP_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

/** `*` stands for one part of a path, `**` at the end for everything below. */
export const pathPatternSchema = z
  .string()
  .max(1024)
  .regex(/^\/(?!\/)[^\s?#\\%]*$/, 'must begin with one `/` and hold no query, no escapes and no backslash')
  .refine((path) => !path.split('/').some((part) => part === '.' || part === '..'), 'must not hold `.` or `..`')
  .refine((path) => !/\*\*(?!$)/.test(path), 'may have `**` at the end only')

const cidrSchema = z.union([z.cidrv4(), z.cidrv6()])

/** Something that may be reached. Ports default to 443 and 80. */
export const ruleSchema = z.strictObject({
  name: namePatternSchema,
  ports: z.array(portSchema).min(1).max(64).optional(),
  /** These methods alone. Needs the content of the connection, so that TLS is opened. */
  methods: z.array(z.enum(HTTP_METHODS)).min(1).optional(),
  /** These paths alone. Needs the content of the connection too. */
  paths: z.array(pathPatternSchema).min(1).max(256).optional(),
  /** Addresses that are not public and may be dialed nevertheless, for example `10.1.0.0/16`. Only for an exact name. */
  addresses: z.array(cidrSchema).min(1).max(64).optional(),
})
export type Rule = z.output<typeof ruleSchema>

export const budgetsSchema = z
  .strictObject({
    /** Bytes out of the sandbox, in all. */
    sentBytes: z.int().min(0),
    receivedBytes: z.int().min(0),
    /** Connections in all. */
    connections: z.int().min(0),
    /** Connections at one time. */
    concurrent: z.int().min(1).max(4096),
  })
  .partial()
export type Budgets = z.output<typeof budgetsSchema>

export const PRESET_NAMES = [
  'npm',
  'pypi',
  'debian',
  'crates',
  'go',
  'github',
  'gitlab',
  'anthropic',
  'openai',
] as const
export type PresetName = (typeof PRESET_NAMES)[number]

/** What a sandbox may reach. Without one: nothing. What is denied stays so, whatever allows it. */
export const policySchema = z.strictObject({
  /**
   * `audit` allows everything that is public and not denied, at the ports of the web, SSH, mail and databases and those that rules name, and records
   * what `enforce` would have refused. Default `enforce`.
   */
  mode: z.enum(['enforce', 'audit']).optional(),
  allow: z
    .array(z.union([shortRuleSchema, ruleSchema]))
    .max(1000)
    .optional(),
  /** Named sets of rules; `hearth policy show` prints what they hold. */
  presets: z.array(z.enum(PRESET_NAMES)).optional(),
  /** Wins over `allow`. A path is denied in capitals too, since many servers take one for the other. */
  deny: z
    .array(z.union([shortRuleSchema, ruleSchema.omit({ addresses: true })]))
    .max(1000)
    .optional(),
  budgets: budgetsSchema.optional(),
  /**
   * Sets `HTTP_PROXY` and its like to a proxy that leads where the policy does and no further, for programs that insist on one. Of a sandbox,
   * not of a single command. Default false: nothing needs it.
   */
  proxy: z.boolean().optional(),
})
export type Policy = z.input<typeof policySchema>

/** Why a connection or a request was refused. */
export const REFUSALS = [
  'name_not_allowed',
  'port_not_allowed',
  'denied',
  'method_not_allowed',
  'path_not_allowed',
  'address_not_public',
  'name_not_found',
  'name_mismatch',
  'protocol_not_allowed',
  'budget_exhausted',
  'placeholder_misplaced',
  'branch_not_allowed',
  'malformed',
] as const
export type Refusal = (typeof REFUSALS)[number]
