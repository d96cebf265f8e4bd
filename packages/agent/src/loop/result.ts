import { BOUNDS, type AgentEvent } from '@hearth/contract'
import type { AgentResult, Diff } from './options.ts'

type ResultEvent = Extract<AgentEvent, { type: 'result' }>

/** What is written down of a result. A patch that is too large to be kept is left out, and the event says so. */
export function resultBody({ diff, ...rest }: AgentResult): Omit<ResultEvent, 'seq' | 'at'> {
  const result = { type: 'result' as const, ...rest }
  if (!diff.available) return { ...result, files: [], moreFiles: 0, patch: null, withoutPatch: diff.reason }
  const files = diff.files.slice(0, BOUNDS.runFiles)
  const listed = { ...result, files, moreFiles: diff.files.length - files.length }
  const { length } = diff.patch
  if (length > BOUNDS.runPatchBytes) {
    const withoutPatch = `it has ${length} bytes, and ${BOUNDS.runPatchBytes} are kept with a run`
    return { ...listed, patch: null, withoutPatch }
  }
  const bytes = Buffer.from(diff.patch)
  const text = bytes.toString('utf8')
  return Buffer.from(text, 'utf8').equals(bytes)
    ? { ...listed, patch: text, withoutPatch: null }
    : { ...listed, patch: null, patchBase64: bytes.toString('base64'), withoutPatch: null }
}

/** What was written down, as whoever waited for it would have got it. */
export function resultOf(event: ResultEvent): AgentResult {
  const { reason, detail, summary, verified, steps, tokens, dollars, wallTimeMs } = event
  return { reason, detail, summary, verified, diff: diffOf(event), steps, tokens, dollars, wallTimeMs }
}

function diffOf({ files, patch, patchBase64, withoutPatch }: ResultEvent): Diff {
  if (patch !== null) return { available: true, files, patch: Buffer.from(patch) }
  if (patchBase64 !== undefined) return { available: true, files, patch: Buffer.from(patchBase64, 'base64') }
  return { available: false, reason: withoutPatch ?? 'it was not kept' }
}
