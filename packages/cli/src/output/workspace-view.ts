import type { Collected, Repository, WorkspaceInfo, WorkspaceStatus } from '@hearth/sdk'
import type { View } from './present.ts'
import { printable } from './printable.ts'
import { formatBytes, table } from './table.ts'
import { formatAge, formatMoment } from './time.ts'

const COMMIT_CHARACTERS = 12

/** Repositories in a table. */
export const repositoryView: View<Repository> = {
  header: ['ID', 'STATE', 'BRANCH', 'CACHE', 'FETCHED', 'USED', 'ADDRESS'],
  id: ({ id }) => id,
  row: (repository) => [
    repository.id,
    repository.state,
    printable(repository.defaultBranch ?? '-'),
    formatBytes(repository.bytes),
    repository.fetchedAt === null ? '-' : formatAge(repository.fetchedAt),
    formatAge(repository.usedAt),
    addressOf(repository),
  ],
}

function addressOf({ url, path }: Repository): string {
  return printable(url ?? path ?? '-')
}

/** All of one repository, a line for each fact. */
export function repositoryFacts(repository: Repository): [name: string, value: string][] {
  const { forge, secret, forgeSecret, fetchedAt, reason, defaultBranch } = repository
  return stated([
    ['id', repository.id],
    ['state', repository.state],
    ['address', addressOf(repository)],
    ['branch', defaultBranch === null ? null : printable(defaultBranch)],
    ['cache', formatBytes(repository.bytes)],
    ['secret', secret],
    ['forge', forge === null ? null : [forge.kind, forge.apiUrl].filter(Boolean).join(' ')],
    ['forge secret', forgeSecret],
    ['created', momentOf(repository.createdAt)],
    ['fetched', fetchedAt === null ? null : momentOf(fetchedAt)],
    ['used', momentOf(repository.usedAt)],
    ['reason', reason === null ? null : printable(reason)],
  ])
}

/** Workspaces in a table. */
export const workspaceView: View<WorkspaceInfo> = {
  header: ['ID', 'STATE', 'BRANCH', 'BASE', 'USED', 'PINNED', 'SANDBOX', 'REPOSITORY'],
  id: ({ id }) => id,
  row: (workspace) => [
    workspace.id,
    workspace.state,
    printable(workspace.branch),
    workspace.base.slice(0, COMMIT_CHARACTERS),
    formatAge(workspace.usedAt),
    workspace.pinned ? 'yes' : 'no',
    workspace.sandbox ?? '-',
    workspace.repository,
  ],
}

/** All of one workspace, a line for each fact. */
export function workspaceFacts(workspace: WorkspaceInfo): [name: string, value: string][] {
  const { pushed, pullRequest, rescued, lifetime } = workspace
  return stated([
    ['id', workspace.id],
    ['state', workspace.state],
    ['repository', workspace.repository],
    ['branch', printable(workspace.branch)],
    ['base', workspace.base],
    ['last commit', workspace.head],
    ['pushed', pushed === null ? null : `${printable(pushed.branch)} at ${pushed.commit}`],
    ['pull request', pullRequest === null ? null : printable(pullRequest.url)],
    ['stays', lifetime === 'sandbox' ? 'until its sandbox ends' : workspace.pinned ? 'until it is removed' : null],
    ['sandbox', workspace.sandbox],
    ['volume', workspace.volume],
    ['forked of', workspace.parent],
    ['limit', formatBytes(workspace.diskBytes)],
    ['created', momentOf(workspace.createdAt)],
    ['used', momentOf(workspace.usedAt)],
    ['saved', rescued === null ? null : `${formatBytes(rescued.bytes)} of changes, before its files were given up`],
  ])
}

export function rowOf<Item>(view: View<Item>, item: Item): string {
  return table([view.header, view.row(item)])
}

/** Files that changed, and what cannot be in a commit. */
export function statusLines({ files, skipped, dirty, unpushed }: WorkspaceStatus): string {
  const state = `${dirty ? 'there are changes since the last commit' : 'nothing changed since the last commit'}; ${
    unpushed ? 'not all of it is pushed' : 'nothing is left to push'
  }\n`
  return state + fileLines(files) + skippedLines(skipped)
}

/** `+3 -1 path` */
export function fileLines(files: WorkspaceStatus['files']): string {
  const count = (sign: string, lines: number | null): string => (lines === null ? '-' : `${sign}${lines}`)
  return table(files.map(({ path, added, removed }) => [count('+', added), count('-', removed), printable(path)]))
}

export function skippedLines(skipped: WorkspaceStatus['skipped']): string {
  return skipped.map(({ path, reason }) => `left out: ${printable(path)}: ${printable(reason)}\n`).join('')
}

export function collectedLines({ workspaces, repositories, seeds }: Collected): string {
  const lines = [
    ...workspaces.map(({ id, rescued }) => `${id}${rescued ? ' (its changes are saved)' : ''}\n`),
    ...repositories.map((id) => `${id}\n`),
    ...(seeds === 0 ? [] : [`${seeds} prepared checkouts\n`]),
  ]
  return lines.length === 0 ? 'nothing to give up\n' : lines.join('')
}

function momentOf(date: Date): string {
  return `${formatMoment(date)} (${formatAge(date)} ago)`
}

function stated(facts: readonly [string, string | null][]): [string, string][] {
  return facts.filter((fact): fact is [string, string] => fact[1] !== null)
}
