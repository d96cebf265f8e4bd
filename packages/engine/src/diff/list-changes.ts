import type { FileChange } from '@hearth/contract'
import { readablePath, type ChangeRecord } from './change-record.ts'
import type { StreamPart } from './record-stream.ts'

export interface ListedChange {
  readonly record: ChangeRecord
  readonly content: Uint8Array | null
}

/** Collects a stream of changes. Its number and its content are bounded where it is made. */
export async function collectChanges(parts: AsyncIterable<StreamPart>): Promise<ListedChange[]> {
  const changes: ListedChange[] = []
  let buffer: Buffer | null = null
  let filled = 0
  for await (const part of parts) {
    if (part.kind === 'record') {
      const wanted = part.contentBytes > 0
      buffer = wanted ? Buffer.allocUnsafeSlow(part.contentBytes) : null
      filled = 0
      changes.push({ record: part.record, content: buffer })
    } else if (buffer !== null) {
      buffer.set(part.bytes, filled)
      filled += part.bytes.length
    }
  }
  return changes
}

/** As the interface of sandboxes has it. An empty file has content too, when content was asked for. */
export function fileChange({ record, content }: ListedChange, withContent: boolean): FileChange {
  const empty = withContent && record.size === 0 && record.type === 'file' && record.change !== 'removed'
  const bytes = content ?? (empty ? new Uint8Array() : null)
  return {
    path: readablePath(record.path),
    change: record.change,
    type: publicType(record),
    sizeBytes: record.type === 'file' ? record.size : 0,
    ...(bytes === null ? {} : { content: bytes }),
  }
}

function publicType({ type }: ChangeRecord): FileChange['type'] {
  return type === 'file' || type === 'directory' || type === 'symlink' ? type : 'other'
}
