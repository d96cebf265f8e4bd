import { HearthError } from '@hearth/contract'
import type { SnapshotManifest } from '../store/snapshot-manifest.ts'
import type { Template } from '../templates/template.ts'

/** Processes that were captured cannot go on here. Their files can. */
export function incompatibleMemory(message: string, context: Record<string, unknown> = {}): HearthError {
  return new HearthError('snapshot_incompatible', message, {
    suggestion:
      'Its files are whole: create from it, or wake the sandbox, with `memory: "none"` (`--memory none` on the command line). Processes do not go on then.',
    context,
  })
}

/** Throws `snapshot_incompatible` when processes that were captured on files of a host would go on with those of another. */
export function requireSameTools(
  { hostTools, info }: Pick<SnapshotManifest, 'hostTools' | 'info'>,
  here: Template,
): void {
  // Null: it was not written down, or it has a template of its own, which is pinned by its digest.
  if (here.kind !== 'host' || hostTools === null || hostTools === here.tools) return
  throw incompatibleMemory(
    `the processes of snapshot ${info.id} have files of the host in memory, and those are others here: its release, loader, libraries or interpreters`,
    { captured: hostTools, here: here.tools },
  )
}
