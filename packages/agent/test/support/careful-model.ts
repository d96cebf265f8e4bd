import { NO_USAGE, type Model, type ModelReply, type ModelRequest } from '../../src/models/model.ts'

export const EFFECTS = '/tmp/effects'

interface Done {
  readonly command: string
  readonly answer: string
}

function past(request: ModelRequest): Done[] {
  const calls = request.messages.flatMap((message) => (message.role === 'assistant' ? message.calls : []))
  const answers = request.messages.flatMap((message) => (message.role === 'tool' ? message.answers : []))
  return answers.map((answer, index) => ({
    command: String((calls[index]?.input as { command?: string } | undefined)?.command),
    answer: answer.text,
  }))
}

/**
 * Leaves a mark in a file for each word, once. When it is told that a call was interrupted, it looks before it does it again: with a loop
 * that neither loses nor repeats anything, each mark is there once in the end, wherever the loop was killed.
 */
export class CarefulModel implements Model {
  readonly name = 'scripted:careful'
  readonly contextTokens = 100_000
  readonly #groups: readonly (readonly string[])[]

  constructor(groups: readonly (readonly string[])[]) {
    this.#groups = groups
  }

  call(request: ModelRequest): Promise<ModelReply> {
    const done = past(request)
    for (const group of this.#groups) {
      const missing = group.filter((word) => !isThere(word, done))
      if (missing.length === 0) continue
      const unsure = done.at(-1)?.answer.startsWith('interrupted') === true || someUnknown(missing, done)
      return reply(request, unsure ? [`cat ${EFFECTS}`] : missing.map(mark))
    }
    return reply(request, [])
  }
}

function mark(word: string): string {
  return `echo ${word} >> ${EFFECTS}`
}

function isThere(word: string, done: readonly Done[]): boolean {
  const looked = done.findLast(({ command }) => command.startsWith('cat '))
  const seen = looked?.answer.split('\n').includes(word) === true
  return seen || done.some(({ command, answer }) => command === mark(word) && answer.startsWith('exit code 0'))
}

/** A mark that was interrupted after the file was last looked at. */
function someUnknown(words: readonly string[], done: readonly Done[]): boolean {
  const looked = done.findLastIndex(({ command }) => command.startsWith('cat '))
  return words.some((word) =>
    done.some(
      ({ command, answer }, index) => command === mark(word) && answer.startsWith('interrupted') && index > looked,
    ),
  )
}

function reply(request: ModelRequest, commands: readonly string[]): Promise<ModelReply> {
  const calls =
    commands.length === 0
      ? [{ id: `submit-${request.turn}`, name: 'submit', input: { summary: 'all marks are there' } }]
      : commands.map((command, index) => ({ id: `${request.turn}-${index}`, name: 'bash', input: { command } }))
  return Promise.resolve({ text: '', calls, finish: 'tool-calls', usage: NO_USAGE })
}
