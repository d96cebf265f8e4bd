import { z } from 'zod'
import { budgetsSchema, policySchema, ruleSchema } from '../policy.ts'
import { privateKeyProblem } from '../private-key.ts'
import { SHORTEST_SECRET, secretBindingSchema, secretUseSchema, secretValueSchema } from '../secrets.ts'

/** What any of them may be; a private key of ssh has lines, and is longer than what goes into requests. */
const anyValueSchema = z
  .string()
  .min(SHORTEST_SECRET)
  .max(16_384)
  .regex(/^[\x20-\x7e\r\n]*$/, 'must be printable ASCII')

export const putSecretSchema = z
  .strictObject({ value: anyValueSchema, binding: secretBindingSchema })
  .superRefine(({ value, binding }, context) => {
    for (const message of problemsOf(value, binding.placement.in))
      context.addIssue({ code: 'custom', path: ['value'], message })
  })
  .meta({ id: 'PutSecret' })

function problemsOf(value: string, place: string): string[] {
  if (place === 'ssh') return [privateKeyProblem(value)].filter((problem) => problem !== null)
  return secretValueSchema.safeParse(value).error?.issues.map(({ message }) => message) ?? []
}

/** All that is ever told of a secret: never its value. */
export const secretViewSchema = z
  .object({
    name: z.string(),
    binding: secretBindingSchema,
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'Secret' })
export type SecretView = z.output<typeof secretViewSchema>

export const putPolicySchema = policySchema.meta({ id: 'Policy' })

/** What a sandbox may reach. */
export const policyViewSchema = z
  .object({
    /** As it was asked for. */
    policy: putPolicySchema,
    /** What is in force: presets, short forms and ports written out. */
    effective: z.object({
      mode: z.enum(['enforce', 'audit']),
      allow: z.array(ruleSchema),
      deny: z.array(ruleSchema),
      budgets: budgetsSchema,
      /** There where it has a proxy. */
      proxy: z.literal(true).optional(),
    }),
    /** The secrets that it uses, by name. */
    secrets: z.array(secretUseSchema),
  })
  .meta({ id: 'PolicyInForce' })
export type PolicyView = z.output<typeof policyViewSchema>
