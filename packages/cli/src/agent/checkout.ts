import { HearthError } from '@hearth/contract'
import type { CallOptions, Hearth, Workspace } from '@hearth/sdk'
import { withoutUndefined } from '../options/sandbox-options.ts'
import { printable } from '../output/printable.ts'
import { findWorkspace, isAddress, sourceOf } from '../server/find-workspace.ts'
import { messageOf, textOfCommit, titleOf, type Destination, type Outcome } from './destination.ts'
import { originOf } from './origin.ts'

export interface CheckoutOptions {
  /** A directory, or the address or id of a repository. */
  readonly repo?: string
  readonly workspace?: string
  readonly ref?: string
  readonly branch?: string
  readonly pr?: boolean
  readonly base?: string
}

/** Whether a run works in a workspace of the server, instead of on a copy of a directory. Options that would do nothing are refused. */
export function worksInWorkspace({ repo, workspace, ref, pr, base }: CheckoutOptions): boolean {
  if (workspace !== undefined && repo !== undefined)
    throw wrong('--workspace is a checkout already: --repo names another')
  if (workspace !== undefined && ref !== undefined)
    throw wrong('--workspace is a checkout already: --ref names another')
  if (base !== undefined && pr !== true) throw wrong('--base is where a pull request goes to', 'Ask for one with --pr.')
  const remote = workspace !== undefined || pr === true || (repo !== undefined && isRepository(repo))
  if (ref !== undefined && !remote) throw wrong('--ref is for a repository that the server checks out', 'Name its URL.')
  return remote
}

function isRepository(word: string): boolean {
  return isAddress(word) || word.startsWith('repo_')
}

function wrong(message: string, suggestion?: string): HearthError {
  return new HearthError('invalid_request', message, suggestion === undefined ? {} : { suggestion })
}

export interface Checkout {
  readonly workspace: Workspace
  /** It was made for this run: without a change nobody needs it. */
  readonly isNew: boolean
  /** Brings a change into it that was made in a copy. Null: whatever was changed is there. */
  readonly bringBack: ((patch: Uint8Array) => Promise<void>) | null
}

/** The workspace that a run works in: the one that was named, or a new one. */
export async function checkOut(hearth: Hearth, options: CheckoutOptions, call: CallOptions): Promise<Checkout> {
  const { repo = '.', workspace: word, ref, branch } = options
  if (word !== undefined) {
    const workspace = await findWorkspace(hearth, word, call)
    if (branch !== undefined && branch !== workspace.info.branch) await workspace.branch(branch, call)
    return { workspace, isNew: false, bringBack: null }
  }
  const source = isRepository(repo) ? await sourceOf(hearth, repo, call) : await originOf(hearth, repo, call)
  const wanted = { ...source, ...withoutUndefined({ ref, branch }) }
  return { workspace: await hearth.workspaces.create(wanted, call), isNew: true, bringBack: null }
}

/**
 * Commits, pushes and asks for a merge on the host. Others see it only when the run was submitted: what was cut short stays in the workspace.
 */
export function toRepository(
  { workspace, isNew, bringBack }: Checkout,
  { branch, pr, base }: CheckoutOptions,
): Destination {
  return {
    write: async (outcome, task) => {
      if (isNew && isUnchanged(outcome)) {
        await workspace.remove()
        return null
      }
      const { diff } = outcome
      // Without a patch nothing of a copy is in the workspace: there is nothing to push.
      if (bringBack !== null && !diff.available) return null
      if (bringBack !== null && diff.available && diff.files.length > 0) await bringBack(diff.patch)
      if ((branch === undefined && pr !== true) || outcome.reason !== 'submitted') return null
      const { commit } = await workspace.commit({ message: messageOf(task, outcome) })
      const pushed = await workspace.push()
      const json = { workspace: workspace.id, branch: pushed.branch, commit }
      const people = `${printable(pushed.branch)} is at ${commit}\n`
      if (pr !== true) return { id: commit, people, json }
      const asked = { title: titleOf(task), body: bodyOf(outcome), ...withoutUndefined({ base }) }
      const { url, number, created } = await workspace.pullRequest(asked)
      const open = `${printable(url)}${created ? '' : ' (it was open already)'}\n`
      return { id: url, people: people + open, json: { ...json, pullRequest: { url, number, created } } }
    },
  }
}

function isUnchanged({ diff }: Outcome): boolean {
  return diff.available && diff.files.length === 0
}

function bodyOf({ summary, verified, proven, steps, dollars }: Outcome): string {
  const passed = proven === false ? 'Its check has passed, as it did before the change.' : 'Its check has passed.'
  const checked = verified === true ? passed : 'Nothing was checked.'
  return textOfCommit(
    `${summary ?? ''}\n\n${checked} Made by an agent in ${steps} steps${dollars === 0 ? '' : ` for $${dollars.toFixed(2)}`}.`,
  ).trim()
}
