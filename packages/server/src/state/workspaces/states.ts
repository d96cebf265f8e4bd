import { HearthError, type RepositoryState, type WorkspaceState } from '@hearth/contract'

/** Every change of state that there is. A removal that has begun only goes on, until the row is gone. */
const REPOSITORY: Readonly<Record<RepositoryState, readonly RepositoryState[]>> = {
  cloning: ['ready', 'failed', 'deleting'],
  ready: ['cloning', 'cold', 'deleting'],
  failed: ['cloning', 'deleting'],
  cold: ['cloning', 'deleting'],
  deleting: [],
}

/** `evicting` goes back to `ready` where what had changed could not be saved. */
const WORKSPACE: Readonly<Record<WorkspaceState, readonly WorkspaceState[]>> = {
  creating: ['ready', 'deleting'],
  ready: ['evicting', 'deleting'],
  evicting: ['evicted', 'ready'],
  evicted: ['deleting'],
  deleting: [],
}

export function canRepositoryBecome(from: RepositoryState, to: RepositoryState): boolean {
  return REPOSITORY[from].includes(to)
}

export function canWorkspaceBecome(from: WorkspaceState, to: WorkspaceState): boolean {
  return WORKSPACE[from].includes(to)
}

/** The states from which there is a way, for a statement that compares and sets. */
export function repositorySources(to: RepositoryState): RepositoryState[] {
  return (Object.keys(REPOSITORY) as RepositoryState[]).filter((from) => canRepositoryBecome(from, to))
}

export function workspaceSources(to: WorkspaceState): WorkspaceState[] {
  return (Object.keys(WORKSPACE) as WorkspaceState[]).filter((from) => canWorkspaceBecome(from, to))
}

export function refusedMove(what: string, id: string, to: string): HearthError {
  return new HearthError('conflict', `${what} ${id} cannot become ${to} now`, { context: { [what]: id, to } })
}
