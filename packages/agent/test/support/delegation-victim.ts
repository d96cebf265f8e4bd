import type { SandboxId } from '@hearth/contract'
import { Hearth } from '@hearth/engine'
import { FileEventLog, resumeAgent, startAgent, type AgentEvent, type EventLog } from '../../src/index.ts'
import { CarefulDelegator } from './careful-delegator.ts'

// An agent with sub-agents in a process of its own, which kills itself without a word after some events.

const [id = '', directory = '', events = '', leaseMs = '', command] = process.argv.slice(2)

await using hearth = new Hearth({ spareKeepers: 0 })
const sandbox = await hearth.adopt(id as SandboxId)
const log = await FileEventLog.open(`${directory}/log`)

let left = Number(events)
const deadly: EventLog = {
  read: async () => await log.read(),
  append: async (event: AgentEvent) => {
    await log.append(event)
    if (--left === 0) process.kill(process.pid, 'SIGKILL')
  },
}

const model = new CarefulDelegator(['one', 'two'], command === undefined ? undefined : () => command)
const delegate = { hearth, leaseMs: Number(leaseMs) }
const options = { sandbox, model, log: deadly, stateDirectory: `${directory}/state`, delegate }
const begun = (await log.read()).length > 0
const run = begun ? await resumeAgent(options) : await startAgent({ ...options, task: 'Write.' })
const { reason, steps } = await run.result
process.stdout.write(`${reason} ${steps}\n`)
await sandbox.release()
