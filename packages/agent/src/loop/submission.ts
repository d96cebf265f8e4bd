import type { Grant } from '@hearth/contract'
import { listed, pathsOutside } from '../changes/writable-paths.ts'
import { runCommand } from '../tools/bash.ts'
import type { ToolContext } from '../tools/tool.ts'
import type { Diff } from './options.ts'
import { attempt } from './run-tool.ts'

/** The longest that the check of a submission may take. */
const VERIFY_MS = 30 * 60_000

export interface Judged {
  readonly accepted: boolean
  readonly changed: boolean | null
  readonly verified: boolean | null
  /** The sandbox was lost while it was checked. */
  readonly unreachable?: boolean
  readonly text: string
}

/**
 * Looks at a submission. One that changes what the run may not change is sent back. One without a change is sent back once, since it is mostly a claim and not a result; said again, it counts as
 * what it is. One whose check fails is sent back with the output.
 */
export async function judgeSubmission(
  diff: Diff,
  verify: string | null,
  saidBefore: boolean,
  writable: Grant['paths']['write'],
  context: ToolContext,
): Promise<Judged> {
  const changed = diff.available ? diff.files.length > 0 : null
  const outside = diff.available ? pathsOutside(diff.files, context.workdir, writable) : []
  if (outside.length > 0) {
    const text = `not accepted: this is not yours to change, bring it back to what it was: ${listed(outside)}`
    return { accepted: false, changed, verified: null, text }
  }
  // Who may change nothing is asked for what it finds out.
  if (changed === false && !saidBefore && writable.length > 0) {
    const text =
      'not accepted: nothing has changed in the working directory. Do the task; if nothing is to be done, submit again.'
    return { accepted: false, changed, verified: null, text }
  }
  if (verify === null || changed === false) return { accepted: true, changed, verified: null, text: 'accepted' }
  const limits = { timeoutMs: VERIFY_MS, waitMs: VERIFY_MS + 60_000 }
  const result = await attempt(() => runCommand(verify, limits, context), context.signal)
  if (result.failed !== true) return { accepted: true, changed, verified: true, text: 'accepted' }
  const verified = result.interrupted === true ? null : false
  const unreachable = result.unreachable === true
  return { accepted: false, changed, verified, unreachable, text: `not accepted: ${verify}\n${result.text}` }
}
