// Lets an agent give a part of its work to a sub-agent, which has a machine of its own and never more rights than it was given.
// The models are scripts here; `openModel('anthropic:claude-sonnet-4-5')` gives a real one.
import { ScriptedModel, startAgent } from '@hearth/agent'
import { Hearth } from 'hearth'

await using hearth = new Hearth()
await using sandbox = await hearth.create({ rung: 'process' })
await sandbox.files.write('/workspace/greet.sh', 'echo "hello, ${1:-world}"\n')

const wanted = { task: 'Describe greet.sh in docs/usage.md.', write: ['docs'] }
const model = new ScriptedModel([
  // A name that the run itself may not reach: nothing is begun, and the model is told why.
  { calls: [{ tool: 'delegate', input: { sub_agents: [{ ...wanted, names: ['example.com'] }] } }] },
  { calls: [{ tool: 'delegate', input: { sub_agents: [wanted] } }] },
  { calls: [{ tool: 'submit', input: { summary: 'It is described.' } }] },
])
const writer = new ScriptedModel([
  { calls: [{ tool: 'write', input: { path: 'docs/usage.md', content: 'sh greet.sh [NAME]\n' } }] },
  { calls: [{ tool: 'submit', input: { summary: 'There is a page now.' } }] },
])

const run = await startAgent({
  sandbox,
  model,
  task: 'Describe the program.',
  // Of the run and all its sub-agents together.
  budget: { steps: 20, wallTimeMs: 60_000 },
  // What it may do and give on: no names, everything below its working directory, one level of sub-agents.
  grant: { depth: 1, paths: { read: 'any', write: ['/workspace'] } },
  delegate: { hearth, model: writer },
  onEvent: (event) => {
    if (event.type === 'tool_ended' && event.name === 'delegate') console.log(event.observation.split('\n')[0])
    if (event.type === 'brought_back') console.log(`${event.outcome}: ${event.files.join(', ')}`)
  },
})
const { reason, steps } = await run.result
console.log(`${reason}, ${steps} steps in all: ${await sandbox.files.readText('/workspace/docs/usage.md')}`)
