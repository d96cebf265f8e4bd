import { readFile } from 'node:fs/promises'
import { HearthError, parseInput } from '@hearth/contract'
import { z } from 'zod'
import { ModelFailure } from './model-failure.ts'
import { NO_USAGE, type Model, type ModelReply, type ModelRequest } from './model.ts'

const replySchema = z.strictObject({
  text: z.string().optional(),
  calls: z.array(z.strictObject({ tool: z.string(), input: z.unknown() })).optional(),
  usage: z.strictObject({ inputTokens: z.int().min(0), outputTokens: z.int().min(0) }).optional(),
})
const scriptSchema = z.array(replySchema).min(1).max(10_000)

/** The replies of a script, one for each call. */
export type Script = z.input<typeof scriptSchema>

const SCRIPT_BYTES = 16 * 1024 * 1024

/** A model that says what a script tells it to, for trying things out without a key. A call beyond its end is an error, never a made-up reply. */
export class ScriptedModel implements Model {
  readonly name: string
  readonly contextTokens = 1_000_000
  readonly #script: Script

  constructor(script: Script, name = 'scripted:') {
    this.#script = parseInput(scriptSchema, script, 'script')
    this.name = name
  }

  static async open(file: string): Promise<ScriptedModel> {
    const text = await readFile(file, 'utf8').catch((error: unknown) => {
      throw new HearthError('invalid_request', `the script ${file} cannot be read: ${String(error)}`, { cause: error })
    })
    if (text.length > SCRIPT_BYTES) throw new HearthError('invalid_request', `the script ${file} is too large`)
    try {
      return new ScriptedModel(JSON.parse(text) as Script, `scripted:${file}`)
    } catch (error) {
      if (HearthError.isInstance(error)) throw error
      throw new HearthError('invalid_request', `the script ${file} is not JSON: ${String(error)}`, { cause: error })
    }
  }

  call(request: ModelRequest): Promise<ModelReply> {
    const reply = this.#script[request.turn]
    if (reply === undefined) {
      const failure = new ModelFailure(
        'refused',
        `the script has ${this.#script.length} replies, and one more was asked for`,
      )
      return Promise.reject(failure)
    }
    const calls = (reply.calls ?? []).map(({ tool, input }, index) => ({
      id: `call-${request.turn}-${index}`,
      name: tool,
      input,
    }))
    return Promise.resolve({
      text: reply.text ?? '',
      calls,
      finish: calls.length > 0 ? 'tool-calls' : 'stop',
      usage: { ...NO_USAGE, ...reply.usage },
    })
  }
}
