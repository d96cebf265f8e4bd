// Gives a model of OpenAI a sandbox as a tool, with the official client: first one for each call, then one for the whole conversation.
import { Hearth, type Sandbox } from 'hearth'
import OpenAI from 'openai'

const client = new OpenAI()
await using hearth = new Hearth()

const RUN_CODE: OpenAI.ChatCompletionTool = {
  type: 'function',
  function: {
    name: 'run_code',
    description: 'Runs Python in an isolated sandbox and returns what it printed. It has no network.',
    parameters: { type: 'object', properties: { code: { type: 'string' } }, required: ['code'] },
  },
}

/** What the model is told. A mistake is an answer, too: it can do better then. */
async function run(sandbox: Sandbox, json: string): Promise<string> {
  const code = codeOf(json)
  if (code === null) return 'the arguments must be JSON with a string `code`'
  const { stdout, text, error } = await sandbox.runCode(code, { timeoutMs: 30_000 })
  const said = `${stdout}${text ?? ''}${error === null ? '' : `${error.name}: ${error.message}`}`
  return said.trim().slice(-4000) || '(nothing was printed)'
}

/** Models write arguments that are no JSON, too. */
function codeOf(json: string): string | null {
  try {
    const { code } = JSON.parse(json) as { code?: unknown }
    return typeof code === 'string' ? code : null
  } catch {
    return null
  }
}

async function ask(question: string, runCode: (json: string) => Promise<string>): Promise<string> {
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: question }]
  for (let step = 0; step < 12; step++) {
    const { choices } = await client.chat.completions.create({ model: 'gpt-5', tools: [RUN_CODE], messages })
    const message = choices[0]?.message
    if (message === undefined) throw new Error('there is no reply')
    messages.push(message)
    const calls = (message.tool_calls ?? []).filter((call) => call.type === 'function')
    if (calls.length === 0) return message.content ?? ''
    for (const { id, function: asked } of calls) {
      messages.push({ role: 'tool', tool_call_id: id, content: await runCode(asked.arguments) })
    }
  }
  return 'it did not come to an end'
}

const question = 'Add up the numbers to 100 and keep the sum. Then double it.'

// Nothing is left of a call, also when it fails; the deadline is there for when this process dies.
const apart = await ask(question, async (json) => {
  await using sandbox = await hearth.create({ ttlMs: 60_000 })
  return await run(sandbox, json)
})
console.log(`a sandbox for each call: ${apart}`)

// What a call leaves behind is there for the next one.
await using session = await hearth.create({ ttlMs: 600_000 })
console.log(`one for the conversation: ${await ask(question, async (json) => await run(session, json))}`)
