import { HearthError } from '@hearth/contract'
import { relievePressure } from './collecting.ts'
import { LocalRepositories } from './local-repositories.ts'
import { LocalWorkspaces } from './local-workspaces.ts'
import { settleWorkspaces, tidyWorkspaces } from './settling.ts'
import { Turns } from './turns.ts'
import type { WorkspaceContext } from './workspace-context.ts'

/** Repositories and workspaces of one host. */
export class WorkspaceServices {
  readonly repositories: LocalRepositories
  readonly workspaces: LocalWorkspaces
  readonly context: WorkspaceContext
  #open = true

  constructor(parts: Omit<WorkspaceContext, 'turns'>) {
    const requireOpen = (): void => {
      if (!this.#open) throw new HearthError('shutting_down', 'the server is being stopped')
    }
    this.context = { ...parts, turns: new Turns() }
    this.repositories = new LocalRepositories(this.context, requireOpen)
    this.workspaces = new LocalWorkspaces(this.context, this.repositories, requireOpen)
  }

  /** Nothing new begins. */
  close(): void {
    this.#open = false
  }

  /** At the start, before anything new begins. */
  async settle(): Promise<void> {
    await settleWorkspaces(this.context)
  }

  /** Now and again. */
  async tidy(): Promise<void> {
    await tidyWorkspaces(this.context)
    await relievePressure(this.context)
  }
}
