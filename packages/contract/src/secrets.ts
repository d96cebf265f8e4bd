import { z } from 'zod'
import { HTTP_METHODS, namePatternSchema, pathPatternSchema } from './policy.ts'

/** What a person calls a secret. */
export const secretNameSchema = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/, 'must be letters, digits, dashes and underscores, and begin with a letter')

const headerNameSchema = z
  .string()
  .max(128)
  .transform((name) => name.toLowerCase())
  .pipe(z.string().regex(/^[a-z0-9!#$%&'*+.^_`|~-]+$/, 'must be the name of a header'))

/** A public key of a server, as `ssh-keyscan` and lists of known hosts have it after the name. */
export const hostKeySchema = z
  .string()
  .max(4096)
  .regex(
    /^(?:ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(?:256|384|521)) [A-Za-z0-9+/]{40,}={0,2}$/,
    'must be like `ssh-ed25519 AAAA...`',
  )

/**
 * The one place of a request in which the real value is put in. `basic`: the password of HTTP Basic, as git sends its token.
 * `aws`: the request is signed anew with Signature Version 4; the secret is the secret access key.
 * `ssh`: a private key with which the host itself speaks to servers of git. No sandbox can use it, not even as a placeholder.
 */
export const secretPlacementSchema = z.discriminatedUnion('in', [
  z.strictObject({ in: z.literal('header'), header: headerNameSchema }),
  z.strictObject({ in: z.literal('basic') }),
  z.strictObject({ in: z.literal('query'), key: z.string().min(1).max(128) }),
  /** The path of keys to a string in a JSON body, such as `auth.token`. */
  z.strictObject({ in: z.literal('json'), field: z.string().min(1).max(256) }),
  z.strictObject({
    in: z.literal('aws'),
    region: z.string().max(64).optional(),
    service: z.string().max(64).optional(),
  }),
  z.strictObject({
    in: z.literal('ssh'),
    /** The only keys that the server may have. Default: the one that it has when it is first spoken to. */
    hostKeys: z.array(hostKeySchema).min(1).max(32).optional(),
  }),
])
export type SecretPlacement = z.output<typeof secretPlacementSchema>

/** Where a secret may go. Whoever stores it decides; who uses it cannot widen it. */
export const secretBindingSchema = z
  .strictObject({
    name: namePatternSchema,
    placement: secretPlacementSchema,
    methods: z.array(z.enum(HTTP_METHODS)).min(1).optional(),
    paths: z.array(pathPatternSchema).min(1).max(256).optional(),
    /** With `basic` and `ssh`: a git push may change these branches alone, and have no options (`git push -o`); `*` stands for anything. Default: all. */
    branches: z.array(z.string().min(1).max(256)).max(64).optional(),
  })
  .refine(
    ({ placement, methods, paths }) => placement.in !== 'ssh' || (methods === undefined && paths === undefined),
    'ssh has neither methods nor paths',
  )
export type SecretBinding = z.output<typeof secretBindingSchema>

/** Shorter values would be found everywhere when responses are scrubbed. */
export const SHORTEST_SECRET = 8

/** Of a value no part that is longer may be in it twice: what a hostile server makes of such parts takes too long to search. */
const LONGEST_REPETITION = 64

export const secretValueSchema = z
  .string()
  .min(SHORTEST_SECRET)
  .max(8192)
  .regex(/^[\x20-\x7e]*$/, 'must be printable ASCII without line breaks')
  .refine(
    (value) => !repeatsItself(value),
    `must not hold the same ${LONGEST_REPETITION + 1} characters twice: a secret is random`,
  )

function repeatsItself(value: string): boolean {
  const parts = new Set<string>()
  for (let at = 0; at + LONGEST_REPETITION < value.length; at++) {
    const part = value.slice(at, at + LONGEST_REPETITION + 1)
    if (parts.has(part)) return true
    parts.add(part)
  }
  return false
}

/** A secret as it is used: the variable in which the sandbox finds its placeholder. Default: the name of the secret. */
export const secretUseSchema = z.strictObject({
  secret: secretNameSchema,
  env: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/)
    .optional(),
})
export type SecretUse = z.output<typeof secretUseSchema>

/** A secret with its value, which only the host side ever holds. */
export interface Secret {
  readonly name: string
  readonly value: string
  readonly binding: SecretBinding
}
