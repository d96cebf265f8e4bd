import {
  childCountSchema,
  forkOptionsSchema,
  HearthError,
  parseInput,
  sandboxIdSchema,
  volumeIdSchema,
  type ForkResult,
} from '@hearth/contract'
import { z } from 'zod'
import type { StoredSnapshot } from '../store/snapshot-manifest.ts'
import type { ForkVolumes } from '../volumes/fork-volumes.ts'
import type { Volumes } from '../volumes/volumes.ts'
import type { EngineForkOptions } from './captures.ts'
import type { Basis } from './create-from.ts'
import type { EmbeddedSandbox } from './embedded-sandbox.ts'
import type { Launcher, Prepared } from './launcher.ts'
import type { UnownedRecord } from './sandbox-record.ts'
import type { Snapshots } from './snapshots.ts'

/** More would lengthen the parent's pause by more than they gain. */
const EARLY_CHILDREN = 2

const optionsSchema = forkOptionsSchema.extend({
  signal: z.instanceof(AbortSignal).optional(),
  ids: z.array(sandboxIdSchema).optional(),
  volumeIds: z.array(z.array(volumeIdSchema)).optional(),
})

export interface ForkParts {
  readonly snapshots: Snapshots
  readonly volumes: Volumes
  readonly launcher: Launcher
  /** What a sandbox like this one is made of. */
  readonly like: (record: UnownedRecord) => Promise<Basis>
}

/**
 * Captures a sandbox and makes its children, all at once. The snapshot is committed when all of them are there: until then a crash leaves
 * nothing but what the next sweep removes, children too.
 */
export async function forkSandbox(
  parts: ForkParts,
  parent: EmbeddedSandbox,
  wanted: number,
  asked: EngineForkOptions,
): Promise<ForkResult<EmbeddedSandbox>> {
  const count = parseInput(childCountSchema, wanted, 'count')
  const options = parseInput(optionsSchema, asked, 'options')
  for (const name of ['each', 'ids', 'volumeIds'] as const) {
    if ((options[name]?.length ?? 0) > count) throw tooMany(name, count)
  }
  options.signal?.throwIfAborted()
  const { snapshots } = parts
  const about = { kind: 'fork', name: null, metadata: {} } as const
  const volumes = parts.volumes.forkOf(parent.info)
  const children = new Children(parts, parent, count, options, volumes)
  // A few are made of the parent's own files at once; many, or with volumes to be copied too, would make it stand still for too long.
  const soon = count <= EARLY_CHILDREN && !volumes.any
  const early = soon ? { early: (begun: StoredSnapshot) => children.begin(begun) } : {}
  const how = { ...early, volumes: volumes.capture }
  const draft = await snapshots.draft(parent, options.memory ?? 'auto', about, how).catch(async (error: unknown) => {
    await children.abandon()
    throw error
  })
  try {
    const made = await children.of(draft.snapshot)
    options.signal?.throwIfAborted()
    await snapshots.commitFork(draft)
    await volumes.keep()
    return { ...draft.captured.outcome, children: made, pausedMs: draft.captured.pausedMs }
  } catch (error) {
    await children.abandon()
    await snapshots.discard(draft)
    throw error
  }
}

type Options = z.output<typeof optionsSchema>

/** The children of one fork: all of them, or none. */
class Children {
  readonly #parts: ForkParts
  readonly #parent: EmbeddedSandbox
  readonly #count: number
  readonly #options: Options
  readonly #basis: Promise<Basis>
  readonly #volumes: ForkVolumes
  #launched: Promise<PromiseSettledResult<EmbeddedSandbox>[]> | null = null

  constructor(parts: ForkParts, parent: EmbeddedSandbox, count: number, options: Options, volumes: ForkVolumes) {
    this.#parts = parts
    this.#parent = parent
    this.#count = count
    this.#options = options
    this.#volumes = volumes
    // Found out while the parent is being captured; whoever needs it hears of a failure.
    this.#basis = parts.like(parent.record)
    this.#basis.catch(() => undefined)
  }

  /** Resolves when all have their files, or will have none. */
  async begin(snapshot: StoredSnapshot): Promise<void> {
    const basis = await this.#basis
    const disks: Promise<unknown>[] = []
    const launches = Array.from({ length: this.#count }, (_, index) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      const launch = this.#launch(basis, snapshot, index, resolve)
      disks.push(Promise.race([promise, launch.catch(() => undefined)]))
      return launch
    })
    this.#launched = Promise.allSettled(launches)
    await Promise.all(disks)
  }

  async of(snapshot: StoredSnapshot): Promise<EmbeddedSandbox[]> {
    if (this.#launched === null) await this.begin(snapshot)
    const results = (await this.#launched) ?? []
    const failed = results.findIndex((result) => result.status === 'rejected')
    if (failed !== -1) throw childFailed((results[failed] as PromiseRejectedResult).reason, failed, this.#count)
    return results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  }

  /** Removes those that were made. */
  async abandon(): Promise<void> {
    const results = (await this.#launched) ?? []
    await Promise.all(results.flatMap((result) => (result.status === 'fulfilled' ? [result.value.kill()] : [])))
    await this.#volumes.discard()
  }

  async #launch(basis: Basis, snapshot: StoredSnapshot, index: number, diskMade: () => void): Promise<EmbeddedSandbox> {
    const { signal, ids, volumeIds } = this.#options
    const id = ids?.[index]
    const volumes = await this.#volumes.ofChild(snapshot, volumeIds?.[index])
    const prepared = { ...basis, ...describeChild(this.#parent, snapshot, this.#options, index), volumes }
    return await this.#parts.launcher.launch(prepared, {
      diskMade,
      ...(id === undefined ? {} : { id }),
      ...(signal === undefined ? {} : { signal }),
    })
  }
}

function describeChild(
  parent: EmbeddedSandbox,
  snapshot: StoredSnapshot,
  options: Options,
  index: number,
): Omit<Prepared, keyof Basis | 'volumes'> {
  const { info, configuration, network } = parent.record
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
    used: parent.network.used,
    // What was given to one is not multiplied by copying it.
    network: { ...network, policy: own?.policy ?? options.policy ?? network.policy, ownHearth: false },
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
