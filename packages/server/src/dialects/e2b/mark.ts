import { HearthError, type SandboxView } from '@hearth/contract'
import { z } from 'zod'

/** The entry among a sandbox's metadata that says how this dialect made it. Clients of the dialect neither see nor set it. */
export const MARK_KEY = 'hearth.e2b'

const markSchema = z.object({
  /** What was asked for as the template. */
  template: z.string(),
  /** When its time is over it is paused, not ended. */
  autoPause: z.boolean(),
  /** What runs in it goes on afterwards. */
  keepMemory: z.boolean(),
  /** A request wakes it. */
  autoResume: z.boolean(),
  /** What it was given to run, in seconds; again when a request has woken it. */
  timeout: z.number().optional(),
  /** Its ports need a token. */
  privateTraffic: z.boolean(),
  /** What programs at its ports are told as their host; `${PORT}` in it is the port. */
  requestHost: z.string().optional(),
  /** Programs at these ports expect TLS. */
  httpsPorts: z.array(z.number()).optional(),
})

export type Mark = z.output<typeof markSchema>

export function writeMark(mark: Mark): string {
  return JSON.stringify(mark)
}

/** Null for a sandbox that was not made through this dialect. */
export function markOf({ metadata }: Pick<SandboxView, 'metadata'>): Mark | null {
  const text = metadata[MARK_KEY]
  if (text === undefined) return null
  try {
    return markSchema.parse(JSON.parse(text))
  } catch {
    // Somebody wrote it through the native API: it says nothing.
    return null
  }
}

export function visibleMetadata({ metadata }: Pick<SandboxView, 'metadata'>): Record<string, string> {
  const { [MARK_KEY]: _mark, ...rest } = metadata
  return rest
}

export function refuseMark(metadata: Readonly<Record<string, string>>): void {
  if (!(MARK_KEY in metadata)) return
  throw new HearthError('invalid_request', `metadata: ${MARK_KEY} is not for clients`)
}
