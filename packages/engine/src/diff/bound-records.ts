import { tooManyChanges, type DiffLimits } from './diff-limits.ts'
import type { StreamPart } from './record-stream.ts'

/** Passes a stream on for as long as what it names can be held. Whoever makes the stream may have no reason to stop. */
export async function* boundRecords(
  parts: AsyncIterable<StreamPart>,
  { changes, textBytes }: Pick<DiffLimits, 'changes' | 'textBytes'>,
): AsyncGenerator<StreamPart, void> {
  let records = 0
  let text = 0
  for await (const part of parts) {
    if (part.kind === 'record') {
      text += part.record.path.length + part.record.target.length
      if (++records > changes || text > textBytes) throw tooManyChanges()
    }
    yield part
  }
}
