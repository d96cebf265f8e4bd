import {
  CODE_LANGUAGES,
  HearthError,
  parseInput,
  type CodeResult,
  type Limits,
  type RunCodeOptions,
  type Sandbox,
} from '@hearth/contract'
import { z } from 'zod'
import type { Capabilities } from '../drivers/driver.ts'
import { CodeContext } from './code-context.ts'

const codeSchema = z.string().max(8 * 1024 * 1024)
const optionsSchema = z.strictObject({
  language: z.enum(CODE_LANGUAGES).default('python'),
  timeoutMs: z.int().min(1).optional(),
  context: z.string().min(1).max(64).default('default'),
  signal: z.instanceof(AbortSignal).optional(),
})

/** The interpreters of one sandbox, by language and context name; each keeps its state between cells. */
export class CodeContexts {
  readonly #sandbox: Pick<Sandbox, 'spawn'>
  readonly #capabilities: Capabilities
  readonly #contexts = new Map<string, CodeContext>()

  constructor(sandbox: Pick<Sandbox, 'spawn'>, capabilities: Capabilities) {
    this.#sandbox = sandbox
    this.#capabilities = capabilities
  }

  async run(code: string, options: RunCodeOptions, limits: Limits): Promise<CodeResult> {
    const { language, context, timeoutMs, signal } = parseInput(optionsSchema, options, 'options')
    const text = parseInput(codeSchema, code, 'code')
    if (!this.#capabilities.processes) {
      throw new HearthError('capability_unsupported', 'this rung has no interpreters to run code with')
    }
    const key = `${language} ${context}`
    let entry = this.#contexts.get(key)
    if (entry === undefined) {
      entry = new CodeContext(language, this.#sandbox)
      this.#contexts.set(key, entry)
    }
    return await entry.run(text, { timeoutMs: timeoutMs ?? limits.wallTimeMs, outputBytes: limits.outputBytes, signal })
  }
}
