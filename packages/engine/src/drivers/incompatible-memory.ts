import { HearthError } from '@hearth/contract'

/** Processes that were captured cannot go on here. Their files can. */
export function incompatibleMemory(message: string, context: Record<string, unknown> = {}): HearthError {
  return new HearthError('snapshot_incompatible', message, {
    suggestion:
      'Its files are whole: create from it, or wake the sandbox, with `memory: "none"` (`--memory none` on the command line). Processes do not go on then.',
    context,
  })
}
