import { BOUNDS, HearthError, type BroughtBack, type Grant, type Sandbox } from '@hearth/contract'
import type { ChangeTracker } from '../changes/change-tracker.ts'
import { listed, pathsOutside } from '../changes/writable-paths.ts'
import { changedEntries, writeFiles, writtenFile } from '../changes/written-files.ts'
import type { AgentResult } from '../loop/options.ts'
import { Forks } from '../machines/forks.ts'
import type { Leases } from '../machines/leases.ts'
import { threeWay } from './three-way.ts'

/** Where a change is brought back to. */
export interface Home {
  readonly sandbox: Sandbox
  readonly workdir: string
  readonly tracker: ChangeTracker
  readonly leases: Leases
  readonly signal: AbortSignal
}

export interface Outcome {
  readonly outcome: BroughtBack
  readonly detail: string
  readonly files: readonly string[]
}

/**
 * Takes over what a sub-agent changed, all of it or nothing; null for one that changed nothing. The change is put into a fork of the machine as it is
 * now, and that is merged back in one step, so that whoever dies meanwhile leaves no half of it.
 */
export async function bringBack(
  { reason, diff }: AgentResult,
  writable: Grant['paths']['write'],
  home: Home,
): Promise<Outcome | null> {
  if (!diff.available) return outcome('failed', `its change is not known: ${diff.reason}`)
  if (diff.files.length === 0) return null
  const files = diff.files.map(({ path }) => path)
  const outside = pathsOutside(diff.files, home.workdir, writable)
  if (outside.length > 0) return outcome('outside', `it changed what it was not granted: ${listed(outside)}`, files)
  if (reason !== 'submitted') return outcome('unfinished', `it was cut short: ${reason}`, files)
  try {
    return await new Forks(home.sandbox, home.leases).use(
      async (fork) => await mergeThrough(fork, diff.patch, writable, home),
      home.signal,
    )
  } catch (error) {
    if (home.signal.aborted) return outcome('failed', 'the run was ended first', files)
    const isConflict = HearthError.isInstance(error) && error.code === 'conflict'
    const detail = error instanceof Error ? error.message : String(error)
    return outcome(isConflict ? 'conflict' : 'failed', detail, files)
  }
}

async function mergeThrough(
  fork: Sandbox,
  patch: Uint8Array,
  writable: Grant['paths']['write'],
  { sandbox, workdir, tracker }: Home,
): Promise<Outcome> {
  const { directory } = tracker
  const now = await tracker.take(fork, workdir)
  const entries = await changedEntries(directory, now, await threeWay(directory, now, patch))
  // SAFETY: what is written is compared with the grant, not only what was said to be changed.
  const outside = pathsOutside(entries, workdir, writable)
  if (outside.length > 0) return outcome('outside', `it changed what it was not granted: ${listed(outside)}`)
  const files: Awaited<ReturnType<typeof writtenFile>>[] = []
  for (const entry of entries) files.push(await writtenFile(directory, entry))
  await writeFiles(files, fork, workdir)
  // Not cut short: whoever is told that it failed must know that nothing was done.
  const { conflicts } = await sandbox.merge(fork, { paths: [workdir] })
  const paths = entries.map(({ path }) => path)
  if (conflicts.length === 0) return outcome('merged', '', paths)
  return outcome('conflict', `both sides changed ${listed(conflicts.map(({ path }) => path))}`, paths)
}

function outcome(kind: BroughtBack, detail: string, files: readonly string[] = []): Outcome {
  return { outcome: kind, detail: detail.slice(0, 2000), files: files.slice(0, BOUNDS.runFiles) }
}
