import type { AgentEvent } from '@hearth/agent'
import type { Hearth, RunInfo } from '@hearth/sdk'
import { shortTask, subAgentName } from '../output/agent-view.ts'

type Nested = Extract<AgentEvent, { type: 'sub_agent' }>

/** One of a run, at whatever level. */
interface Told {
  readonly name: string
  readonly task: string
  end: string
  change: string
}

/** The sub-agents of a run, in the order in which they began: a field for each. */
export async function subAgentsOf(hearth: Hearth, run: RunInfo): Promise<[string, string][]> {
  const found = new Map<string, Told>()
  for await (const event of hearth.runs.events(run.id)) {
    // Who cannot give work on has none, however long its run was.
    if (event.type === 'started' && (event.grant?.depth ?? 0) === 0) return []
    if (event.type === 'sub_agent') take(found, event)
    const brought = event.type === 'sub_agent' ? event.event : event
    const told = brought.type === 'brought_back' ? found.get(brought.run) : undefined
    if (told !== undefined && brought.type === 'brought_back') told.change = `, its change: ${brought.outcome}`
  }
  return [...found.values()].map(({ name, task, end, change }) => [name, `${end}${change}: ${task}`])
}

function take(found: Map<string, Told>, { runs, event }: Nested): void {
  const run = runs.at(-1) ?? ''
  if (event.type === 'started') {
    found.set(run, { name: subAgentName(runs), task: shortTask(event.task), end: 'not ended', change: '' })
  }
  const told = found.get(run)
  if (event.type === 'result' && told !== undefined) told.end = `${event.reason}, ${event.steps} steps`
}
