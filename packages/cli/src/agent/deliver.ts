import { writeFile } from 'node:fs/promises'
import type { AgentResult } from '@hearth/agent'
import { onLocal } from '../copy/local-failure.ts'
import { resultLine } from '../output/agent-view.ts'
import { printable } from '../output/printable.ts'
import { write } from '../output/write.ts'
import { writeBranch, type LocalBranch } from './local-branch.ts'

export interface DeliveryOptions {
  /** A file; true or nothing for standard output. */
  readonly diff?: string | true
  readonly json?: boolean
  readonly quiet?: boolean
}

/** Gives what came of a run, whatever ended it. A change that cannot be written to its branch is given as a patch, and then the error. */
export async function deliver(
  result: AgentResult,
  { json, quiet, diff }: DeliveryOptions,
  task: string,
  branch: LocalBranch | null,
): Promise<void> {
  if (json !== true && quiet !== true) process.stderr.write(`${resultLine(result)}\n`)
  if (!result.diff.available) return
  const { patch } = result.diff
  const toOutput = async (): Promise<void> => (json === true ? undefined : await write(process.stdout, patch))
  if (typeof diff === 'string') await onLocal(diff, async () => await writeFile(diff, patch))
  if (branch === null || patch.length === 0) return typeof diff === 'string' ? undefined : await toOutput()
  try {
    const commit = await writeBranch(branch, patch, messageOf(task, result))
    if (quiet === true) await write(process.stdout, `${commit}\n`)
    else if (json !== true) process.stderr.write(`branch ${printable(branch.name)}: ${commit}\n`)
    if (diff === true) await toOutput()
  } catch (error) {
    if (typeof diff !== 'string') await toOutput()
    throw error
  }
}

function messageOf(task: string, { summary, reason }: AgentResult): string {
  const [title = ''] = task.trim().split('\n')
  const short = title.length > 72 ? `${title.slice(0, 69)}...` : title
  const end = reason === 'submitted' ? '' : `\n\nThe run was cut short: ${reason}.`
  return `${short}\n\n${summary ?? ''}${end}\n`
}
