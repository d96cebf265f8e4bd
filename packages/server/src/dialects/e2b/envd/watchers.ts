import { newId, HearthError, type Sandbox, type WatchEvent } from '@hearth/contract'
import { posix } from 'node:path'
import { asHearthError } from '../../../http/failures.ts'
import type { Draft } from '../connect/messages.ts'
import { statEntry, type Describing } from './entries.ts'
import { PerSandbox } from '../per-sandbox.ts'

/** Per sandbox: more polled watchers are refused, and one with more events that nobody has fetched has failed. */
const MOST_WATCHERS = 64
const MOST_EVENTS = 10_000

type Changes = AsyncIterable<WatchEvent> & AsyncDisposable

interface Watcher {
  readonly changes: Changes
  events: Draft<'FilesystemEvent'>[]
  /** Why there are no more. */
  failure: HearthError | null
}

/** What is watched, and whether the events carry the file as it is afterwards. */
export interface Watched {
  readonly path: string
  readonly includeEntry: boolean
}

/** Watches that are polled, for clients that cannot hold a stream open. */
export class Watchers {
  readonly #by: Describing
  readonly #sandboxes = new PerSandbox(() => new Map<string, Watcher>())

  constructor(by: Describing) {
    this.#by = by
  }

  create(sandbox: Sandbox, changes: Changes, watched: Watched): string {
    const known = this.#sandboxes.of(sandbox)
    if (known.size >= MOST_WATCHERS) {
      throw new HearthError('too_many', `a sandbox has at most ${MOST_WATCHERS} polled watchers`)
    }
    const id = newId('w')
    const watcher: Watcher = { changes, events: [], failure: null }
    known.set(id, watcher)
    void this.#collect(sandbox, watcher, watched).catch((error: unknown) => {
      watcher.failure = asHearthError(error)
    })
    return id
  }

  /** What has happened since the last time; then, where the watch has broken, why. */
  take(sandbox: Sandbox, id: string): readonly Draft<'FilesystemEvent'>[] {
    const watcher = this.#require(sandbox, id)
    const { events, failure } = watcher
    watcher.events = []
    if (failure === null || events.length > 0) return events
    this.#sandboxes.get(sandbox.id)?.delete(id)
    throw failure
  }

  async remove(sandbox: Sandbox, id: string): Promise<void> {
    const { changes } = this.#require(sandbox, id)
    this.#sandboxes.get(sandbox.id)?.delete(id)
    await changes[Symbol.asyncDispose]()
  }

  forget(id: string): void {
    this.#sandboxes.forget(id)
  }

  #require(sandbox: Sandbox, id: string): Watcher {
    const watcher = this.#sandboxes.get(sandbox.id)?.get(id)
    if (watcher !== undefined) return watcher
    throw new HearthError('not_found', `watcher with id ${id.slice(0, 64)} not found`)
  }

  async #collect(sandbox: Sandbox, watcher: Watcher, watched: Watched): Promise<void> {
    await using changes = watcher.changes
    for await (const change of changes) {
      const told = await eventsOf(sandbox, this.#by, watched, change)
      // Who asks meanwhile takes the list with them: this is the one that is there now.
      watcher.events.push(...told)
      if (watcher.events.length >= MOST_EVENTS) throw missed()
    }
    // A sandbox that sleeps ends what watches it; one that nobody needs any more is not asked.
    throw new HearthError('watch_failed', 'watcher error: the sandbox was paused meanwhile; watch anew')
  }
}

/** A change as E2B tells it; a new name is two events, as inotify has them. */
export async function eventsOf(
  sandbox: Sandbox,
  by: Describing,
  { path, includeEntry }: Watched,
  change: WatchEvent,
): Promise<Draft<'FilesystemEvent'>[]> {
  const named = (of: string): string => posix.relative(path, of)
  // What has gone again meanwhile has no entry.
  const entry =
    includeEntry || change.kind === 'created'
      ? await statEntry(sandbox, by, change.path).catch(() => undefined)
      : undefined
  const shown = entry === undefined || !includeEntry ? {} : { entry }
  switch (change.kind) {
    case 'created': {
      const created = { name: named(change.path), type: 'EVENT_TYPE_CREATE', ...shown } as const
      // Hearth puts whole files in their place: whoever waits for the content hears of it as well.
      const written = entry?.type === 'FILE_TYPE_FILE' && (entry.size ?? 0) > 0
      return written ? [created, { ...created, type: 'EVENT_TYPE_WRITE' }] : [created]
    }
    case 'changed':
      return [{ name: named(change.path), type: 'EVENT_TYPE_WRITE', ...shown }]
    case 'attributes':
      return [{ name: named(change.path), type: 'EVENT_TYPE_CHMOD', ...shown }]
    case 'removed':
      return [{ name: named(change.path), type: 'EVENT_TYPE_REMOVE' }]
    case 'renamed': {
      const created = { name: named(change.path), type: 'EVENT_TYPE_CREATE', ...shown } as const
      return change.from === null ? [created] : [{ name: named(change.from), type: 'EVENT_TYPE_RENAME' }, created]
    }
    case 'overflow':
      throw missed()
  }
}

/** A watch that goes on after a gap would be believed. */
function missed(): HearthError {
  return new HearthError('watch_failed', 'watcher error: more changed at once than could be told; watch anew')
}
