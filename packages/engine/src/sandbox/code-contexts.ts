import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import {
  CODE_LANGUAGES,
  HearthError,
  parseInput,
  type CodeEvent,
  stepSchema,
  type CodeLanguage,
  type CodeResult,
  type Limits,
  type RunCodeOptions,
  type Sandbox,
} from '@hearth/contract'
import { z } from 'zod'
import type { Capabilities } from '../drivers/driver.ts'
import type { CapturedInterpreter } from '../store/snapshot-manifest.ts'
import { CodeContext } from './code-context.ts'
import type { SandboxOwner } from './embedded-options.ts'

/** The longest that a capture waits for requests that are on their way. */
const REQUEST_MS = 500
const codeSchema = z.string().max(8 * 1024 * 1024)
const optionsSchema = z.strictObject({
  language: z.enum(CODE_LANGUAGES).default('python'),
  timeoutMs: z.int().min(1).optional(),
  context: z.string().min(1).max(64).default('default'),
  step: stepSchema.optional(),
  signal: z.instanceof(AbortSignal).optional(),
  onEvent: z.custom<(event: CodeEvent) => void>((value) => typeof value === 'function').optional(),
})

/** Interpreters that go on in a sandbox. `copied`: it is a copy of the one that they were started in, and not that one itself after its sleep. */
export interface CapturedInterpreters {
  readonly captured: readonly CapturedInterpreter[]
  readonly copied: boolean
}

/** The interpreters of one sandbox, by language and context name; each keeps its state between cells. */
export class CodeContexts {
  readonly #sandbox: Pick<Sandbox, 'spawn' | 'attach'>
  readonly #capabilities: Capabilities
  readonly #contexts = new Map<string, CodeContext>()
  readonly #copied: boolean
  readonly #owner: Pick<SandboxOwner, 'interpreters' | 'onProblem'>
  #still: Promise<void> = Promise.resolve()

  constructor(
    sandbox: Pick<Sandbox, 'spawn' | 'attach'>,
    capabilities: Capabilities,
    { captured, copied }: CapturedInterpreters,
    owner: Pick<SandboxOwner, 'interpreters' | 'onProblem'>,
  ) {
    this.#sandbox = sandbox
    this.#capabilities = capabilities
    this.#copied = copied
    this.#owner = owner
    for (const interpreter of captured) this.#open(interpreter.language, interpreter.context, interpreter)
    if (captured.length > 0) this.#keepAll()
  }

  async run(code: string, options: RunCodeOptions, limits: Limits): Promise<CodeResult> {
    const { language, context, timeoutMs, ...rest } = parseInput(optionsSchema, options, 'options')
    const text = parseInput(codeSchema, code, 'code')
    if (!this.#capabilities.processes) {
      throw new HearthError('capability_unsupported', 'this rung has no interpreters to run code with')
    }
    const entry = this.#contexts.get(keyOf(language, context)) ?? this.#open(language, context, null)
    return await entry.run(text, {
      timeoutMs: timeoutMs ?? limits.wallTimeMs,
      outputBytes: limits.outputBytes,
      ...rest,
    })
  }

  /** Does something while no cell begins. It is given the interpreters as a copy of the sandbox would find them. */
  async still<Value>(work: (interpreters: CapturedInterpreter[]) => Promise<Value>): Promise<Value> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#still = promise
    try {
      // A cell that was let through before has begun its request by then.
      await nextTurn()
      // An interpreter that got half a request would be of no use to a copy; one that does not take it at once is left out.
      const entries = [...this.#contexts.values()]
      await Promise.race([
        Promise.all(entries.map((entry) => entry.written())),
        sleep(REQUEST_MS, undefined, { ref: false }),
      ])
      const states = [...this.#contexts].map(([key, entry]) => ({ state: entry.state(), context: contextOf(key) }))
      return await work(states.flatMap(({ state, context }) => (state === null ? [] : [{ ...state, context }])))
    } finally {
      resolve()
    }
  }

  #keepAll(): void {
    const known = [...this.#contexts].map(([key, { found }]) =>
      found === null ? null : { ...found, context: contextOf(key) },
    )
    this.#owner.interpreters({ captured: known.filter((each) => each !== null), copied: this.#copied })
  }

  #open(language: CodeLanguage, context: string, captured: CapturedInterpreter | null): CodeContext {
    const mayBegin = (): Promise<void> => this.#still
    const { onProblem } = this.#owner
    const copied = this.#copied
    const onCell = (): void => this.#keepAll()
    const entry = new CodeContext({ language, sandbox: this.#sandbox, captured, copied, mayBegin, onCell, onProblem })
    this.#contexts.set(keyOf(language, context), entry)
    return entry
  }
}

function keyOf(language: CodeLanguage, context: string): string {
  return `${language} ${context}`
}

function contextOf(key: string): string {
  return key.slice(key.indexOf(' ') + 1)
}
