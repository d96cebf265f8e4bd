import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { parseSshAddress, sshUrl } from '@hearth/contract'
import type { CallOptions, Hearth, Repository, Workspace, WorkspaceSource } from '@hearth/sdk'
import { isWholeId, pickNamed, type Kind } from './find-named.ts'

const WORKSPACE: Kind = {
  what: 'workspace',
  several: 'workspaces',
  prefix: 'ws',
  missing: 'workspace_not_found',
  list: 'hearth workspace ls',
}

const REPOSITORY: Kind = {
  what: 'repository',
  several: 'repositories',
  prefix: 'repo',
  missing: 'repository_not_found',
  list: 'hearth repo ls',
}

export async function findWorkspace(hearth: Hearth, name: string, options: CallOptions = {}): Promise<Workspace> {
  if (isWholeId(WORKSPACE, name)) return await hearth.workspaces.get(name, options)
  const { id } = pickNamed(WORKSPACE, await hearth.workspaces.list(options), name)
  return await hearth.workspaces.get(id, options)
}

/** By its address, too. */
export async function findRepository(hearth: Hearth, name: string, options: CallOptions = {}): Promise<Repository> {
  if (isWholeId(REPOSITORY, name)) return await hearth.repositories.get(name, options)
  const all = await hearth.repositories.list(options)
  const location = locationOf(name)
  return (
    all.find(({ url, path }) => ('url' in location ? url === location.url : path === location.path)) ??
    pickNamed(REPOSITORY, all, name)
  )
}

/** Where a repository is: a URL, as the server calls it, or a directory of this machine, which is the server's, too. */
export function locationOf(word: string): { url: string } | { path: string } {
  if (!isAddress(word)) return { path: resolve(word) }
  const ssh = parseSshAddress(word)
  if (ssh !== null) return { url: sshUrl(ssh) }
  const url = URL.parse(word)
  return url?.protocol === 'file:' ? { path: decodeURIComponent(url.pathname) } : { url: word }
}

/** What a workspace is made of: a repository that is known, a URL or a path. */
export async function sourceOf(hearth: Hearth, word: string, options: CallOptions = {}): Promise<WorkspaceSource> {
  if (isAddress(word) || (await isDirectory(word))) return locationOf(word)
  return { repository: (await findRepository(hearth, word, options)).id }
}

/** The workspace that a person means for a sandbox: one that there is, or one to be made for it. */
export async function workspaceOf(
  hearth: Hearth,
  word: string,
  options: CallOptions = {},
): Promise<string | WorkspaceSource> {
  if (isAddress(word) || (await isDirectory(word))) return locationOf(word)
  if (word.startsWith('repo_')) return { repository: (await findRepository(hearth, word, options)).id }
  return (await findWorkspace(hearth, word, options)).id
}

/** A scheme, or a host as `ssh` writes it. */
export function isAddress(word: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(word) || /^[\w.-]+@[\w.-]+:/.test(word)
}

async function isDirectory(word: string): Promise<boolean> {
  if (/^[.~]?\//.test(word) || word === '.' || word === '..') return true
  const found = await stat(word).catch(() => null)
  return found?.isDirectory() ?? false
}
