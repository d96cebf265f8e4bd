import { HearthError } from '@hearth/contract'
import type { ChangeList } from '../machine/machine-changes.ts'
import type { StoredSnapshot } from '../store/snapshot-manifest.ts'
import { isAtOrBelow, type ChangeRecord } from './change-record.ts'
import { boundRecords } from './bound-records.ts'
import { compareListings } from './compare-listings.ts'
import { DIFF_LIMITS, type DiffLimits } from './diff-limits.ts'
import { collectChanges, type ListedChange } from './list-changes.ts'
import { readRecords, type StreamPart } from './record-stream.ts'
import { presentStates, UNLIMITED, type PresentState, type RootState, type SinceOptions } from './root-state.ts'

/** Bytes of paths in one question: it must fit into a frame. */
const PATHS_BYTES = 100_000

export interface GuestRootOptions {
  readonly list: ChangeList
  /** What a snapshot held: a machine that is made of it is asked, and ended. */
  readonly earlier: (
    snapshot: StoredSnapshot,
    list: (list: ChangeList) => Promise<ChangeRecord[]>,
  ) => Promise<ChangeRecord[]>
}

/**
 * A root on a disk that only its own kernel reads. The host never mounts it: what a sandbox wrote would be parsed by the host's kernel. An
 * earlier state is looked at in the same way, by a machine that is made of the snapshot for it.
 */
export class GuestRoot implements RootState {
  readonly #options: GuestRootOptions

  constructor(options: GuestRootOptions) {
    this.#options = options
  }

  async changesSince(base: StoredSnapshot | null, options: SinceOptions): Promise<ListedChange[]> {
    const { list, earlier } = this.#options
    const [now, before] = await Promise.all([
      records(list, options.limits, options.signal),
      base === null ? [] : earlier(base, (other) => records(other)),
    ])
    const changes = base === null ? now : await this.#complete(compareListings(before, now), now, options)
    const chosen = changes.filter(({ path }) => isChosen(path, options.paths))
    if (options.contentBytes === null) return chosen.map((record) => ({ record, content: null }))
    return await this.#withContent(chosen, options.contentBytes, options)
  }

  /** What is as in the template again is in no listing: its present state is asked for. */
  async #complete(
    changes: readonly ChangeRecord[],
    now: readonly ChangeRecord[],
    { limits, signal }: SinceOptions,
  ): Promise<ChangeRecord[]> {
    const listed = new Set(now.map(({ path }) => path))
    const unknown = changes.filter(({ path, change }) => change !== 'removed' && !listed.has(path))
    const bounds = { ...DIFF_LIMITS, ...limits }
    const asked = this.#read(
      unknown.map(({ path }) => path),
      null,
      bounds,
      signal,
    )
    const found = new Map((await collectChanges(asked)).map(({ record }) => [record.path, record]))
    return changes.map((change) => ({ ...change, ...presentState(found.get(change.path)) }))
  }

  async #withContent(
    chosen: readonly ChangeRecord[],
    contentBytes: number,
    options: SinceOptions,
  ): Promise<ListedChange[]> {
    const files = chosen.filter(({ type, change }) => type === 'file' && change !== 'removed').map(({ path }) => path)
    const limits = { ...DIFF_LIMITS, ...options.limits }
    const read = await collectChanges(this.#read(files, contentBytes, limits, options.signal))
    const contents = new Map(read.map(({ record, content }) => [record.path, content]))
    return chosen.map((record) => ({ record, content: contents.get(record.path) ?? null }))
  }

  read(paths: readonly string[], content: boolean, signal?: AbortSignal): AsyncIterable<StreamPart> {
    return this.#read(paths, content ? UNLIMITED : null, { ...DIFF_LIMITS, contentBytes: UNLIMITED }, signal)
  }

  async *#read(
    paths: readonly string[],
    contentBytes: number | null,
    limits: DiffLimits,
    signal?: AbortSignal,
  ): AsyncGenerator<StreamPart, void> {
    let left = limits.contentBytes
    for (const part of questions(paths)) {
      const request = { paths: part, whole: true, contentBytes, limits: { ...limits, contentBytes: left } }
      const parts = readRecords(this.#options.list(request, signal))
      for await (const each of boundRecords(parts, { changes: part.length, textBytes: limits.textBytes })) {
        if (each.kind === 'record') left -= each.contentBytes
        // SAFETY: the guest decides what it sends. More than was asked for is not taken.
        if (left < 0) throw new HearthError('protocol_violation', 'the guest sent more content than was asked for')
        yield each
      }
    }
  }

  async present(paths: readonly string[], signal?: AbortSignal): Promise<Map<string, PresentState>> {
    return await presentStates(this, paths, signal)
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

async function records(
  list: ChangeList,
  limits: Partial<DiffLimits> = {},
  signal?: AbortSignal,
): Promise<ChangeRecord[]> {
  const bounds = { ...DIFF_LIMITS, ...limits }
  const found: ChangeRecord[] = []
  const stream = list({ paths: null, whole: false, contentBytes: null, limits: bounds }, signal)
  // SAFETY: a guest could go on for ever.
  for await (const part of boundRecords(readRecords(stream), bounds)) {
    if (part.kind === 'content' || part.contentBytes > 0)
      throw new HearthError('protocol_violation', 'content that nobody asked for')
    found.push(part.record)
  }
  return found
}

function presentState(record: ChangeRecord | undefined): Partial<ChangeRecord> {
  if (record === undefined) return {}
  const { change: _change, before: _before, ...state } = record
  return state
}

function isChosen(path: string, paths: readonly string[] | null): boolean {
  return paths === null || paths.some((chosen) => isAtOrBelow(path, chosen))
}

function* questions(paths: readonly string[]): Generator<readonly string[]> {
  let part: string[] = []
  let bytes = 0
  for (const path of paths) {
    if (bytes + path.length + 2 > PATHS_BYTES) {
      yield part
      part = []
      bytes = 0
    }
    part.push(path)
    bytes += path.length + 2
  }
  if (part.length > 0) yield part
}
