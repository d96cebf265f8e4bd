import {
  childCountSchema,
  forkOptionsSchema,
  HearthError,
  parseInput,
  sandboxIdSchema,
  type ForkResult,
} from '@hearth/contract'
import { z } from 'zod'
import type { StoredSnapshot } from '../store/snapshot-manifest.ts'
import type { EngineForkOptions } from './captures.ts'
import type { Basis } from './create-from.ts'
import type { EmbeddedSandbox } from './embedded-sandbox.ts'
import type { Launcher, Prepared } from './launcher.ts'
import type { Snapshots } from './snapshots.ts'

const optionsSchema = forkOptionsSchema.extend({
  signal: z.instanceof(AbortSignal).optional(),
  ids: z.array(sandboxIdSchema).optional(),
})

export interface ForkParts {
  readonly snapshots: Snapshots
  readonly launcher: Launcher
  /** What a sandbox like the captured one is made of. */
  readonly like: (snapshot: StoredSnapshot, driver: string) => Promise<Basis>
}

/**
 * Captures a sandbox and makes its children, all at once. The snapshot is committed when all of them are there: until then a crash leaves
 * nothing but what the next sweep removes, children too.
 */
export async function forkSandbox(
  parts: ForkParts,
  parent: EmbeddedSandbox,
  children: number,
  asked: EngineForkOptions,
): Promise<ForkResult<EmbeddedSandbox>> {
  const count = parseInput(childCountSchema, children, 'count')
  const options = parseInput(optionsSchema, asked, 'options')
  for (const name of ['each', 'ids'] as const) {
    if ((options[name]?.length ?? 0) > count) throw tooMany(name, count)
  }
  options.signal?.throwIfAborted()
  const { snapshots } = parts
  const about = { kind: 'fork', name: null, metadata: {} } as const
  const draft = await snapshots.draft(parent, options.memory ?? 'auto', about)
  const made: EmbeddedSandbox[] = []
  try {
    made.push(...(await makeChildren(parts, parent, draft.snapshot, count, options)))
    options.signal?.throwIfAborted()
    await snapshots.commitFork(draft)
  } catch (error) {
    await Promise.all(made.map((child) => child.kill()))
    await snapshots.discard(draft)
    throw error
  }
  return { ...draft.captured.outcome, children: made, pausedMs: draft.captured.pausedMs }
}

type Options = z.output<typeof optionsSchema>

/** All of them, or none and the first error. */
async function makeChildren(
  { launcher, like }: ForkParts,
  parent: EmbeddedSandbox,
  snapshot: StoredSnapshot,
  count: number,
  options: Options,
): Promise<EmbeddedSandbox[]> {
  const parts = await like(snapshot, parent.record.driver)
  const { signal, ids } = options
  const results = await Promise.allSettled(
    Array.from({ length: count }, async (_, index) => {
      const id = ids?.[index]
      const prepared = { ...parts, ...describeChild(parent, snapshot, options, index) }
      return await launcher.launch(prepared, {
        ...(id === undefined ? {} : { id }),
        ...(signal === undefined ? {} : { signal }),
      })
    }),
  )
  const made = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  const failed = results.findIndex((result) => result.status === 'rejected')
  if (failed === -1) return made
  await Promise.all(made.map((child) => child.kill()))
  throw childFailed((results[failed] as PromiseRejectedResult).reason, failed, count)
}

function describeChild(
  parent: EmbeddedSandbox,
  snapshot: StoredSnapshot,
  options: Options,
  index: number,
): Omit<Prepared, keyof Basis> {
  const { info, configuration } = parent.record
  const own = options.each?.[index]
  const ttlMs = own?.ttlMs ?? options.ttlMs
  return {
    from: snapshot,
    parent: parent.id,
    limits: info.limits,
    configuration: {
      ...configuration,
      hostname: null,
      environment: { ...configuration.environment, ...options.env, ...own?.env },
    },
    expiresAt: ttlMs === undefined ? info.expiresAt : new Date(Date.now() + ttlMs),
    metadata: { ...info.metadata, ...options.metadata, ...own?.metadata },
  }
}

function childFailed(cause: unknown, index: number, count: number): HearthError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  const message = `child ${index + 1} of ${count} could not be made, and the others were removed: ${reason}`
  if (!HearthError.isInstance(cause)) return new HearthError('launch_failed', message, { cause })
  return new HearthError(cause.code, message, { cause, context: { ...cause.context } })
}

function tooMany(name: string, count: number): HearthError {
  return new HearthError('invalid_request', `options.${name}: there are more than the ${count} children`)
}
