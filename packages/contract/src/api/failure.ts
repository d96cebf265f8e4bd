import { z } from 'zod'

/** What went wrong, in error bodies and as the last event or frame of a stream. */
export const failureSchema = z
  .object({
    code: z.string(),
    message: z.string(),
    suggestion: z.string(),
    retryable: z.boolean(),
    context: z.record(z.string(), z.unknown()),
    requestId: z.string(),
  })
  .meta({ id: 'Failure' })
export type Failure = z.output<typeof failureSchema>

export const errorBodySchema = z.object({ error: failureSchema }).meta({ id: 'Error' })
