import type { AgentEvent, AgentResult } from '@hearth/agent'
import { money } from './money.ts'
import { printable } from './printable.ts'

const LINE_CHARACTERS = 160

/** What a person is told of an event while the agent works; null for what is not worth a line. */
export function eventLine(event: AgentEvent): string | null {
  switch (event.type) {
    case 'started':
      return `${event.model} works in ${event.workdir}${unpriced(event)}`
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
    case 'sub_agent':
      return subAgentLine(event)
    case 'brought_back':
      return `! ${subAgentName([event.run])}: ${event.outcome === 'merged' ? 'merged' : short(event.detail)} ${short(event.files.join(', '))}`.trimEnd()
    case 'model_called':
    case 'submitted':
    case 'stopped':
    case 'result':
      return null
  }
}

/** A limit in money that is not there is not passed over in silence. */
function unpriced({ model, budget }: Extract<AgentEvent, { type: 'started' }>): string {
  if (budget.dollars !== null) return ''
  return `\n! there is no price for ${printable(model)}: what it costs is neither counted nor limited (--price NAME=IN/OUT)`
}

/** A sub-agent has the end of its identifier for a name, behind those that it works for. */
export function subAgentName(runs: readonly string[]): string {
  return `sub-agent ${runs.map((run) => printable(run.slice(-4))).join('/')}`
}

function subAgentLine({ runs, event }: Extract<AgentEvent, { type: 'sub_agent' }>): string | null {
  const line = happenedLine(event)
  return line === null ? null : `[${subAgentName(runs)}] ${line}`
}

/** What a person is told of an event of a sub-agent: also how it begins and ends, which nobody else says. */
export function happenedLine(event: Extract<AgentEvent, { type: 'sub_agent' }>['event']): string | null {
  if (event.type === 'started') return `begins: ${short(event.task)}`
  if (event.type === 'stopped') return `${event.reason}: ${short(event.detail)}`
  return eventLine(event)
}

export function shortTask(task: string): string {
  return short(task)
}

/** What a call is about, on one line. */
export function shortSubject(input: unknown): string {
  return short(subjectOf(input))
}

/** The one word of an input that says the most. */
function subjectOf(input: unknown): string {
  if (typeof input !== 'object' || input === null) return ''
  const fields = input as Readonly<Record<string, unknown>>
  const subject =
    fields['command'] ??
    fields['path'] ??
    fields['pattern'] ??
    fields['summary'] ??
    fields['process'] ??
    tasksOf(fields['sub_agents'])
  return typeof subject === 'string' || typeof subject === 'number' ? String(subject) : ''
}

function tasksOf(subAgents: unknown): string | undefined {
  if (!Array.isArray(subAgents)) return undefined
  const tasks = subAgents.map((each: unknown) =>
    typeof each === 'object' && each !== null && 'task' in each ? each.task : '',
  )
  return tasks.filter((task) => typeof task === 'string').join('; ')
}

function short(text: string): string {
  const line = printable(text.trim().split('\n').slice(0, 2).join(' '))
  return line.length > LINE_CHARACTERS ? `${line.slice(0, LINE_CHARACTERS)}...` : line
}

/** `limit`: what it might cost at the most, null where that was not counted. */
export function resultLine(result: AgentResult, limit: number | null): string {
  const { reason, detail, diff, steps, tokens, dollars, wallTimeMs } = result
  const used = `${steps} steps, ${tokens} tokens, ${money(dollars, limit)}, ${Math.round(wallTimeMs / 1000)} s`
  const lines = [`${reason}: ${short(detail)} (${used})`]
  if (!diff.available) lines.push(`there is no patch: ${short(diff.reason)}`)
  else {
    lines.push(diff.files.length === 1 ? '1 file changed' : `${diff.files.length} files changed`)
    const tests = diff.files.filter(({ test }) => test).map(({ path }) => printable(path))
    if (tests.length > 0) lines.push(`! tests were changed: ${tests.join(', ')}`)
  }
  return lines.join('\n')
}
