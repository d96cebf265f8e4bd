import { HearthError, type SandboxInfo } from '@hearth/contract'

/** Throws `sandbox_ended`, or `sandbox_hibernated`, for one that has no machine. */
export function requireThere({ id, state }: Pick<SandboxInfo, 'id' | 'state'>): void {
  if (state === 'ended') throw new HearthError('sandbox_ended', `sandbox ${id} has ended`)
  if (state === 'hibernated') throw hibernated(id)
}

export function hibernated(id: string): HearthError {
  return new HearthError('sandbox_hibernated', `sandbox ${id} is hibernated`, { context: { sandbox: id } })
}
