import type {
  FileChange,
  FileChangeView,
  LineageView,
  MergeResult,
  MergeView,
  SnapshotInfo,
  SnapshotView,
} from '@hearth/contract'
import type { SandboxRecord } from '../state/index.ts'

export function snapshotView(info: SnapshotInfo): SnapshotView {
  return { ...info, metadata: { ...info.metadata }, createdAt: info.createdAt.toISOString() }
}

export function changeView({ content, ...change }: FileChange): FileChangeView {
  return content === undefined ? change : { ...change, content: Buffer.from(content).toString('base64') }
}

export function mergeView({ applied, conflicts }: MergeResult): MergeView {
  return { applied: applied.map(changeView), conflicts: [...conflicts] }
}

export function lineageView(record: SandboxRecord): LineageView {
  const { id, parentId, originId, state, createdAt, metadata } = record
  return {
    id,
    parent: parentId,
    origin: originId,
    state,
    createdAt: new Date(createdAt).toISOString(),
    metadata: { ...metadata },
  }
}
