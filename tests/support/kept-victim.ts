import { resumeAgent, startAgent, workOn, type KeptOptions } from '@hearth/agent'
import { Hearth, type AgentEvent, type RunId } from '@hearth/sdk'
import { CarefulModel } from '../../packages/agent/test/support/careful-model.ts'

// An agent in a process of its own on a run that a server keeps. It kills itself without a word after some events: just after one was
// written down, or just before.

const [id = '', sandboxId = '', stateDirectory = '', deadly = '', when = 'after'] = process.argv.slice(2)

const hearth = new Hearth()
const run = id as RunId
const sandbox = await hearth.get(sandboxId)
const owner = `victim:${process.pid}`
// The one before is dead, which only its killer can know before the lease is over.
const lease = await hearth.runs.take(run, { owner, force: true })
const append = hearth.runs.append.bind(hearth.runs)
let left = Number(deadly)
hearth.runs.append = async (kept: string, number: number, events: readonly AgentEvent[]): Promise<void> => {
  if (--left === 0 && when === 'before') process.kill(process.pid, 'SIGKILL')
  await append(kept, number, events)
  if (left === 0) process.kill(process.pid, 'SIGKILL')
}

const model = new CarefulModel([['one'], ['two', 'three']])
const { events } = await hearth.runs.get(run)
const begin = async (options: KeptOptions) => {
  const given = { ...options, sandbox, model, stateDirectory }
  return events > 0 ? await resumeAgent(given) : await startAgent({ ...given, task: 'Leave marks.', workdir: '/tmp' })
}
const result = await workOn({ keeper: hearth.runs, lease }, begin)
process.stdout.write(`${result.reason}\n`)
