import type { FileInfo, SandboxState, SandboxView, SnapshotInfo } from '@hearth/contract'

/** The entry among the metadata that says which fork made a sandbox; clients look for it there. */
export const TREE_KEY = 'fork_tree_id'
/** The template as it was asked for. */
export const TEMPLATE_KEY = 'hearth.pandastack.template'

const STATUSES: Readonly<Record<SandboxState, string>> = {
  creating: 'creating',
  running: 'running',
  pausing: 'paused',
  paused: 'paused',
  resuming: 'running',
  hibernating: 'hibernated',
  hibernated: 'hibernated',
  waking: 'running',
  stopping: 'stopping',
  stopped: 'deleted',
  deleting: 'stopping',
  deleted: 'deleted',
  failed: 'failed',
}

export function sandboxView(view: SandboxView): Record<string, unknown> {
  const { [TEMPLATE_KEY]: asked, ...metadata } = view.metadata
  return {
    id: view.id,
    template: asked ?? view.template,
    cpu: view.limits.cpus,
    memory_mb: Math.round(view.limits.memoryBytes / 1024 ** 2),
    status: STATUSES[view.state],
    metadata,
    boot_mode: view.rung,
    created_at: view.createdAt,
    ...(view.origin === null ? {} : { from_snapshot: view.origin }),
  }
}

/** What the client understands by "listed". */
export function isListed({ state }: SandboxView): boolean {
  return !['stopped', 'deleted', 'deleting', 'failed'].includes(state)
}

/** Metadata that begins so is written and never shown. */
export function withoutSecrets(view: Record<string, unknown>): Record<string, unknown> {
  const metadata = Object.entries(view['metadata'] as Record<string, string>)
  return { ...view, metadata: Object.fromEntries(metadata.filter(([key]) => !key.startsWith('secret.'))) }
}

export function snapshotView(snapshot: SnapshotInfo): Record<string, unknown> {
  return {
    id: snapshot.id,
    sandbox_id: snapshot.sandbox,
    template: snapshot.template,
    size_bytes: snapshot.diskBytes + snapshot.memoryBytes,
    created_at: snapshot.createdAt,
  }
}

export function entryView(file: FileInfo): Record<string, unknown> {
  const letter = { file: 'f', directory: 'd', symlink: 'l' }[file.type as string] ?? 'o'
  return {
    name: file.name,
    path: file.path,
    is_dir: file.type === 'directory',
    size: file.size,
    mode: letter,
    mtime: Math.floor(file.modifiedAt.getTime() / 1000),
  }
}
