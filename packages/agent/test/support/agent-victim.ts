import type { SandboxId } from '@hearth/contract'
import { Hearth } from '@hearth/engine'
import {
  FileEventLog,
  resumeAgent,
  ScriptedModel,
  startAgent,
  type AgentEvent,
  type EventLog,
  type Script,
} from '../../src/index.ts'
import { CarefulModel } from './careful-model.ts'

// An agent in a process of its own, which kills itself without a word after some events.

const [id = '', directory = '', events = '', script = '', verify = ''] = process.argv.slice(2)

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

const model =
  script === ''
    ? new CarefulModel([['one'], ['two', 'three'], ['four']])
    : new ScriptedModel(JSON.parse(script) as Script)
const options = { sandbox, model, log: deadly, stateDirectory: `${directory}/state` }
const begun = (await log.read()).length > 0
const run = begun
  ? await resumeAgent(options)
  : await startAgent({ ...options, ...(verify === '' ? {} : { verify }), task: 'Leave marks.', workdir: '/tmp' })
process.stdout.write(`${(await run.result).reason}\n`)
await sandbox.release()
