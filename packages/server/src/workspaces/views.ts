import type { HostKeyView, RepositoryView, WorkspaceView } from '@hearth/contract'
import type { PinnedHostKey, RepositoryRecord, WorkspaceRecord } from '../state/index.ts'

function iso(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}

export function repositoryView(record: RepositoryRecord): RepositoryView {
  const {
    id,
    state,
    url,
    path,
    secret,
    forge,
    forgeSecret,
    defaultBranch,
    bytes,
    createdAt,
    fetchedAt,
    usedAt,
    reason,
  } = record
  return {
    id,
    state,
    url,
    path,
    secret,
    forge,
    forgeSecret,
    defaultBranch,
    bytes,
    createdAt: iso(createdAt),
    fetchedAt: fetchedAt === null ? null : iso(fetchedAt),
    usedAt: iso(usedAt),
    reason,
  }
}

export function hostKeyView({ host, key, pinnedAt }: PinnedHostKey): HostKeyView {
  return { host, key, pinnedAt: iso(pinnedAt) }
}

/** `alive`: sandboxes that live. */
export function workspaceView(record: WorkspaceRecord, alive: ReadonlySet<string>): WorkspaceView {
  const { id, state, branch, base, head, pushed, pullRequest, lifetime, pinned, diskBytes, rescued, sandboxId } = record
  return {
    id,
    state,
    repository: record.repositoryId,
    volume: record.volumeId,
    branch,
    base,
    head,
    pushed,
    pullRequest,
    parent: record.parentId,
    lifetime,
    pinned,
    sandbox: sandboxId !== null && alive.has(sandboxId) ? sandboxId : null,
    diskBytes,
    createdAt: iso(record.createdAt),
    usedAt: iso(record.usedAt),
    rescued: rescued === null ? null : { bytes: rescued.bytes, at: iso(rescued.at) },
  }
}
