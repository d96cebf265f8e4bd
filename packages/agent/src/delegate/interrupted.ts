import { BOUNDS } from '@hearth/contract'
import { resultOf } from '../loop/result.ts'
import type { SubAgentState } from '../loop/sub-agents.ts'
import type { ToolContext } from '../tools/tool.ts'
import { keepPatch } from './kept-patch.ts'
import { saying } from './report.ts'

/** What is known of the sub-agents of a call whose process died. Nothing of them is done again, and what they had come to is not lost. */
export async function interruptedSubAgents(found: readonly SubAgentState[], context: ToolContext): Promise<string> {
  const characters = Math.floor(BOUNDS.subAgentCharacters / Math.max(1, found.length))
  const parts: string[] = []
  for (const [index, each] of found.entries()) {
    parts.push(`sub-agent ${index + 1} (${each.run}): ${await describe(each, characters, context)}`)
  }
  return parts.join('\n\n')
}

async function describe({ run, result, broughtBack }: SubAgentState, characters: number, context: ToolContext) {
  if (result === null) return 'it was ended with its machine, and nothing of its change was taken over.'
  const { reason, summary, diff } = resultOf(result)
  const lines = [`it had ended: ${reason}.`]
  if (broughtBack === 'merged') lines.push('Its change was merged into your files.')
  else if (broughtBack !== null) lines.push(`Nothing of its change was taken over (${broughtBack}).`)
  else if (diff.available && diff.files.length > 0) {
    lines.push('All of its change was merged into your files, or nothing of it: look.')
  }
  if (broughtBack !== 'merged' && diff.available && diff.files.length > 0) {
    lines.push(await keepPatch(run, diff.patch, context))
  }
  if (summary !== null && summary !== '') lines.push(saying(summary, characters))
  return lines.join('\n')
}
