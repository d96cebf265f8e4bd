import { z } from 'zod'
import { budgetsSchema, policySchema, ruleSchema } from '../policy.ts'
import { secretBindingSchema, secretUseSchema, secretValueProblem, secretValueSchema } from '../secrets.ts'

export const putSecretSchema = z
  .strictObject({ value: secretValueSchema, binding: secretBindingSchema })
  .superRefine(({ value, binding }, context) => {
    const message = secretValueProblem(value, binding.placement)
    if (message !== null) context.addIssue({ code: 'custom', path: ['value'], message })
  })
  .meta({ id: 'PutSecret' })

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
    }),
    /** The secrets that it uses, by name. */
    secrets: z.array(secretUseSchema),
  })
  .meta({ id: 'PolicyInForce' })
export type PolicyView = z.output<typeof policyViewSchema>
