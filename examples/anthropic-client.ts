// Gives a model of Anthropic a sandbox as a tool, with the official client: first one for each call, then one for the whole conversation.
import Anthropic from '@anthropic-ai/sdk'
import { Hearth, type Sandbox } from 'hearth'

const client = new Anthropic()
await using hearth = new Hearth()

const RUN_CODE: Anthropic.Tool = {
  name: 'run_code',
  description: 'Runs Python in an isolated sandbox and returns what it printed. It has no network.',
  input_schema: { type: 'object', properties: { code: { type: 'string' } }, required: ['code'] },
}

/** What the model is told. A mistake is an answer, too: it can do better then. */
async function run(sandbox: Sandbox, input: unknown): Promise<string> {
  const { code } = input as { code?: unknown }
  if (typeof code !== 'string') return 'code must be a string'
  const { stdout, text, error } = await sandbox.runCode(code, { timeoutMs: 30_000 })
  const said = `${stdout}${text ?? ''}${error === null ? '' : `${error.name}: ${error.message}`}`
  return said.trim().slice(-4000) || '(nothing was printed)'
}

async function ask(question: string, runCode: (input: unknown) => Promise<string>): Promise<string> {
  const messages: Anthropic.MessageParam[] = [{ role: 'user', content: question }]
  for (let step = 0; step < 12; step++) {
    const reply = await client.messages.create({
      model: 'claude-sonnet-5-5',
      max_tokens: 2048,
      tools: [RUN_CODE],
      messages,
    })
    messages.push({ role: 'assistant', content: reply.content })
    const calls = reply.content.filter((block) => block.type === 'tool_use')
    if (calls.length === 0) return reply.content.map((block) => (block.type === 'text' ? block.text : '')).join('')
    const results: Anthropic.ToolResultBlockParam[] = []
    for (const { id, input } of calls) {
      results.push({ type: 'tool_result', tool_use_id: id, content: await runCode(input) })
    }
    messages.push({ role: 'user', content: results })
  }
  return 'it did not come to an end'
}

const question = 'Add up the numbers to 100 and keep the sum. Then double it.'

// Nothing is left of a call, also when it fails; the deadline is there for when this process dies.
const apart = await ask(question, async (input) => {
  await using sandbox = await hearth.create({ ttlMs: 60_000 })
  return await run(sandbox, input)
})
console.log(`a sandbox for each call: ${apart}`)

// What a call leaves behind is there for the next one.
await using session = await hearth.create({ ttlMs: 600_000 })
console.log(`one for the conversation: ${await ask(question, async (input) => await run(session, input))}`)
