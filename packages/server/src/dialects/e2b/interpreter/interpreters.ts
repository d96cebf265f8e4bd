import { randomUUID } from 'node:crypto'
import { HearthError, type CodeLanguage, type Sandbox, type SandboxId } from '@hearth/contract'
import { z } from 'zod'
import type { NoteRepository } from '../../../state/index.ts'
import { endInterpreter } from '../../end-interpreter.ts'
import { PerSandbox } from '../per-sandbox.ts'

/** A context as clients see it. */
export interface CodeContextView {
  readonly id: string
  readonly language: string
  readonly cwd: string
}

/** What E2B calls languages, and the interpreters that they run in. TypeScript runs where JavaScript does, without its types. */
const LANGUAGES: Readonly<Record<string, CodeLanguage>> = {
  python: 'python',
  javascript: 'javascript',
  js: 'javascript',
  typescript: 'javascript',
  ts: 'javascript',
  bash: 'bash',
  r: 'r',
  java: 'java',
}
const FULL_NAMES: Readonly<Record<string, string>> = { js: 'javascript', ts: 'typescript' }

const DEFAULT_CWD = '/home/user'
const MOST_CONTEXTS = 64

const KIND = 'e2b.context'

const keptSchema = z.object({
  language: z.enum(Object.keys(LANGUAGES) as [string, ...string[]]),
  cwd: z.string(),
  /** Its interpreter is in that directory already. */
  placed: z.boolean(),
})
type KeptContext = z.output<typeof keptSchema>

export class Context implements CodeContextView {
  readonly id: string
  readonly language: string
  readonly interpreter: CodeLanguage
  readonly cwd: string
  readonly #running = new Set<AbortController>()
  #turn: Promise<void> = Promise.resolve()
  /** Cells so far. */
  executions = 0
  readonly #keep: (context: Context) => Promise<void>
  #placed: boolean

  constructor(given: KeptContext & { readonly id: string }, keep: (context: Context) => Promise<void>) {
    const { id, language, cwd } = given
    this.#keep = keep
    this.#placed = given.placed
    this.id = id
    this.language = FULL_NAMES[language] ?? language
    this.interpreter = requireLanguage(language)
    this.cwd = cwd
  }

  /** The name of the engine's context; identifiers of ours are short enough for it. */
  get name(): string {
    return `e2b ${this.id}`
  }

  /** Ends with the call, or when the context is ended. */
  begin(signal: AbortSignal): { readonly signal: AbortSignal; readonly end: () => void } {
    const stop = new AbortController()
    this.#running.add(stop)
    return { signal: AbortSignal.any([signal, stop.signal]), end: () => void this.#running.delete(stop) }
  }

  /** One cell after the other, with what is run before and after it. */
  async inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#turn.then(work)
    this.#turn = mine.then(
      () => undefined,
      () => undefined,
    )
    return await mine
  }

  /** The directory is set with the first cell of each interpreter. */
  get placed(): boolean {
    return this.#placed
  }

  async setPlaced(placed: boolean): Promise<void> {
    if (placed === this.#placed) return
    this.#placed = placed
    await this.#keep(this)
  }

  async begins(): Promise<void> {
    this.executions = 0
    await this.setPlaced(false)
  }

  async end(sandbox: Sandbox): Promise<void> {
    for (const running of this.#running) running.abort(new HearthError('aborted', 'the context was restarted'))
    await this.begins()
    await endInterpreter(sandbox, this.interpreter, this.name)
  }
}

interface Known {
  readonly contexts: Map<string, Context>
  read: Promise<void> | null
}

/** The contexts of each sandbox, which outlive the server. Two are there from the beginning. */
export class Interpreters {
  readonly #notes: NoteRepository
  readonly #sandboxes = new PerSandbox((): Known => ({ contexts: new Map(), read: null }))

  constructor(notes: NoteRepository) {
    this.#notes = notes
  }

  async list(sandbox: Pick<Sandbox, 'id'>): Promise<readonly Context[]> {
    return [...(await this.#of(sandbox)).values()]
  }

  async create(sandbox: Sandbox, language: string, cwd: string | null): Promise<Context> {
    const contexts = await this.#of(sandbox)
    if (contexts.size >= MOST_CONTEXTS)
      throw new HearthError('too_many', `a sandbox has at most ${MOST_CONTEXTS} contexts`)
    const context = this.#context(sandbox, { id: randomUUID(), language, cwd: cwd ?? DEFAULT_CWD, placed: false })
    contexts.set(context.id, context)
    await this.#keep(sandbox.id, context)
    return context
  }

  async get(sandbox: Sandbox, id: string): Promise<Context> {
    const context = (await this.#of(sandbox)).get(id)
    if (context !== undefined) return context
    throw new HearthError('not_found', `Context ${id.slice(0, 64)} not found`)
  }

  /** The one in which code without a context runs. */
  async default(sandbox: Sandbox, language: string): Promise<Context> {
    const name = FULL_NAMES[language] ?? language
    const contexts = await this.#of(sandbox)
    const found = contexts.get(name) ?? this.#context(sandbox, initial(name))
    contexts.set(name, found)
    return found
  }

  async remove(sandbox: Sandbox, id: string): Promise<void> {
    const context = await this.get(sandbox, id)
    ;(await this.#of(sandbox)).delete(id)
    await context.end(sandbox)
    await this.#notes.remove(sandbox.id, KIND, id)
  }

  /** Its processes are gone: contexts begin anew. */
  async rebooted(id: string): Promise<void> {
    for (const context of await this.list({ id: id as SandboxId })) await context.begins()
  }

  forget(id: string): void {
    this.#sandboxes.forget(id)
  }

  async #of(sandbox: Pick<Sandbox, 'id'>): Promise<Map<string, Context>> {
    const known = this.#sandboxes.of(sandbox)
    known.read ??= this.#read(sandbox, known.contexts).catch((error: unknown) => {
      known.read = null
      throw error
    })
    await known.read
    return known.contexts
  }

  async #read(sandbox: Pick<Sandbox, 'id'>, contexts: Map<string, Context>): Promise<void> {
    const notes = await this.#notes.list(sandbox.id, KIND)
    for (const name of ['python', 'javascript']) contexts.set(name, this.#context(sandbox, initial(name)))
    for (const { key, value } of notes) {
      const kept = keptSchema.safeParse(value).data
      if (kept !== undefined) contexts.set(key, this.#context(sandbox, { id: key, ...kept }))
    }
  }

  #context({ id }: Pick<Sandbox, 'id'>, given: KeptContext & { readonly id: string }): Context {
    return new Context(given, (context) => this.#keep(id, context))
  }

  async #keep(id: string, { id: key, language, cwd, placed }: Context): Promise<void> {
    await this.#notes.put(id, KIND, key, { language, cwd, placed }, MOST_CONTEXTS)
  }
}

function initial(language: string): KeptContext & { readonly id: string } {
  return { id: language, language, cwd: DEFAULT_CWD, placed: false }
}

function requireLanguage(language: string): CodeLanguage {
  const found = LANGUAGES[language]
  if (found !== undefined) return found
  throw new HearthError(
    'capability_unsupported',
    `Hearth has no interpreter for ${language.slice(0, 32)}: there are ${Object.keys(LANGUAGES).join(', ')}`,
  )
}
