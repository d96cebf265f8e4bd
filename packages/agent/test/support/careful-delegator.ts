import { NO_USAGE, type Model, type ModelReply, type ModelRequest } from '../../src/models/model.ts'

/**
 * Has one note written for each word, by sub-agents, and looks before it asks again for what was interrupted: with a loop that neither loses nor
 * repeats anything, each note has one line in the end.
 */
export class CarefulDelegator implements Model {
  readonly name = 'scripted:delegator'
  readonly contextTokens = 100_000
  readonly #words: readonly string[]
  readonly #command: (word: string) => string

  constructor(words: readonly string[], command = (word: string) => `mkdir -p notes; echo ${word} >> notes/${word}`) {
    this.#words = words
    this.#command = command
  }

  call(request: ModelRequest): Promise<ModelReply> {
    const { messages, system } = request
    const calls = messages.flatMap((message) => (message.role === 'assistant' ? message.calls : []))
    const answers = messages.flatMap((message) => (message.role === 'tool' ? message.answers : []))
    const submit: [string, object] = ['submit', { summary: 'all is written' }]
    if (system.includes('You are a sub-agent')) {
      const [first] = messages
      const command = this.#command(first?.role === 'user' ? first.text : '')
      return reply(request, ...(calls.length === 0 ? (['bash', { command }] as [string, object]) : submit))
    }
    if (calls.length === 0) return reply(request, ...this.#delegate(this.#words))
    const looked = calls.at(-1)?.name === 'bash' ? answers.at(-1)?.text : undefined
    if (looked?.startsWith('exit code') !== true) return reply(request, 'bash', { command: 'cat notes/*; true' })
    const missing = this.#words.filter((word) => !looked.split('\n').includes(word))
    return reply(request, ...(missing.length === 0 ? submit : this.#delegate(missing)))
  }

  #delegate(words: readonly string[]): [string, object] {
    return ['delegate', { sub_agents: words.map((task) => ({ task, write: ['notes'], steps: 3 })) }]
  }
}

function reply({ turn }: ModelRequest, name: string, input: unknown): Promise<ModelReply> {
  const usage = { ...NO_USAGE, inputTokens: 10, outputTokens: 5 }
  return Promise.resolve({ text: '', calls: [{ id: `${turn}`, name, input }], finish: 'tool-calls', usage })
}
