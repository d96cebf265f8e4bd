import type { FileChange, FileChangeView, SandboxId, SnapshotId, SnapshotInfo, SnapshotView } from '@hearth/contract'
import { HearthError } from '../hearth-error.ts'
import { fromBase64 } from '../streams/bytes.ts'

export function snapshotInfo(view: SnapshotView): SnapshotInfo {
  if (typeof view?.id !== 'string' || typeof view.createdAt !== 'string') {
    throw new HearthError('protocol_violation', 'the server answered something else than a snapshot')
  }
  return {
    ...view,
    id: view.id as SnapshotId,
    sandbox: view.sandbox as SandboxId,
    parent: view.parent as SnapshotId | null,
    createdAt: new Date(view.createdAt),
  }
}

export function fileChange({ content, ...change }: FileChangeView): FileChange {
  return content === undefined ? change : { ...change, content: fromBase64(content) }
}
