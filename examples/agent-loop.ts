// Lets an agent fix a bug in a sandbox. The model is a script here; `openModel('anthropic:claude-sonnet-5-5')` gives a real one.
import { ScriptedModel, startAgent } from '@hearth/agent'
import { Hearth } from 'hearth'

await using hearth = new Hearth()
await using sandbox = await hearth.create({ rung: 'process' })
await sandbox.files.write('/workspace/add.sh', 'echo $(($1 - $2))\n')
await sandbox.files.write('/workspace/test.sh', 'test "$(sh add.sh 2 3)" = 5\n')

const model = new ScriptedModel([
  { text: 'I look at what fails.', calls: [{ tool: 'bash', input: { command: 'sh test.sh; cat add.sh' } }] },
  { calls: [{ tool: 'edit', input: { path: 'add.sh', old_string: '$1 - $2', new_string: '$1 + $2' } }] },
  { calls: [{ tool: 'submit', input: { summary: 'It adds now.' } }] },
])

const run = await startAgent({
  sandbox,
  model,
  task: 'The sum is wrong: fix it.',
  verify: 'sh test.sh',
  budget: { steps: 10, wallTimeMs: 60_000 },
  onEvent: (event) => {
    if (event.type === 'tool_started') console.log(`step: ${event.name}`)
  },
})
const { reason, summary, verified, diff } = await run.result

console.log(`${reason}, verified ${verified}: ${summary}`)
if (diff.available) console.log(Buffer.from(diff.patch).toString())
