import type { AgentEvent, AgentResult } from '@hearth/agent'
import { printable } from './printable.ts'

const LINE_CHARACTERS = 160

/** What a person is told of an event while the agent works; null for what is not worth a line. */
export function eventLine(event: AgentEvent): string | null {
  switch (event.type) {
    case 'started':
      return `${event.model} works in ${event.workdir}`
    case 'forked':
      return `goes on as a copy of ${event.parent.run}`
    case 'model_replied':
      return event.text.trim() === '' ? null : `  ${short(event.text)}`
    case 'model_failed':
      return `! the model failed (${event.kind}): ${short(event.message)}${event.retryInMs === null ? '' : '; asking again'}`
    case 'tool_started':
      return `> ${event.name} ${short(subjectOf(event.input))}`
    case 'tool_ended':
      return event.outcome === 'ok' ? null : `  ${event.outcome}: ${short(event.observation)}`
    case 'reminded':
      return `! ${short(event.text)}`
    case 'compacted':
      return '! the conversation was shortened'
    case 'steered':
      return `! told: ${short(event.text)}`
    case 'paused':
      return '! paused'
    case 'resumed':
      return '! goes on'
    case 'model_called':
    case 'submitted':
    case 'stopped':
    case 'result':
      return null
  }
}

/** What a call is about, on one line. */
export function shortSubject(input: unknown): string {
  return short(subjectOf(input))
}

/** The one word of an input that says the most. */
function subjectOf(input: unknown): string {
  if (typeof input !== 'object' || input === null) return ''
  const fields = input as Readonly<Record<string, unknown>>
  const subject = fields['command'] ?? fields['path'] ?? fields['pattern'] ?? fields['summary'] ?? fields['process']
  return typeof subject === 'string' || typeof subject === 'number' ? String(subject) : ''
}

function short(text: string): string {
  const line = printable(text.trim().split('\n').slice(0, 2).join(' '))
  return line.length > LINE_CHARACTERS ? `${line.slice(0, LINE_CHARACTERS)}...` : line
}

export function resultLine(result: AgentResult): string {
  const { reason, detail, diff, steps, tokens, dollars, wallTimeMs } = result
  const used = `${steps} steps, ${tokens} tokens, $${dollars.toFixed(2)}, ${Math.round(wallTimeMs / 1000)} s`
  const lines = [`${reason}: ${short(detail)} (${used})`]
  if (!diff.available) lines.push(`there is no patch: ${short(diff.reason)}`)
  else {
    lines.push(diff.files.length === 1 ? '1 file changed' : `${diff.files.length} files changed`)
    const tests = diff.files.filter(({ test }) => test).map(({ path }) => printable(path))
    if (tests.length > 0) lines.push(`! tests were changed: ${tests.join(', ')}`)
  }
  return lines.join('\n')
}
