import { randomUUID } from 'node:crypto'
import { HearthError, type CodeLanguage, type Sandbox } from '@hearth/contract'
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

export class Context implements CodeContextView {
  readonly id: string
  readonly language: string
  readonly interpreter: CodeLanguage
  readonly cwd: string
  readonly #running = new Set<AbortController>()
  #turn: Promise<void> = Promise.resolve()
  /** Cells so far. */
  executions = 0
  /** The directory is set with the first cell of each interpreter. */
  placed = false

  constructor(id: string, language: string, cwd: string) {
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

  begins(): void {
    this.placed = false
    this.executions = 0
  }

  async end(sandbox: Sandbox): Promise<void> {
    for (const running of this.#running) running.abort(new HearthError('aborted', 'the context was restarted'))
    this.begins()
    await endInterpreter(sandbox, this.interpreter, this.name)
  }
}

/** The contexts of each sandbox. Two are there from the beginning; others are gone after a restart of the server. */
export class Interpreters {
  readonly #sandboxes = new PerSandbox(initialContexts)

  list(sandbox: Sandbox): readonly Context[] {
    return [...this.#sandboxes.of(sandbox).values()]
  }

  create(sandbox: Sandbox, language: string, cwd: string | null): Context {
    const contexts = this.#sandboxes.of(sandbox)
    if (contexts.size >= MOST_CONTEXTS)
      throw new HearthError('too_many', `a sandbox has at most ${MOST_CONTEXTS} contexts`)
    const context = new Context(randomUUID(), language, cwd ?? DEFAULT_CWD)
    contexts.set(context.id, context)
    return context
  }

  get(sandbox: Sandbox, id: string): Context {
    const context = this.#sandboxes.of(sandbox).get(id)
    if (context !== undefined) return context
    throw new HearthError('not_found', `Context ${id.slice(0, 64)} not found`)
  }

  /** The one in which code without a context runs. */
  default(sandbox: Sandbox, language: string): Context {
    const name = FULL_NAMES[language] ?? language
    const contexts = this.#sandboxes.of(sandbox)
    const found = contexts.get(name) ?? new Context(name, name, DEFAULT_CWD)
    contexts.set(name, found)
    return found
  }

  async remove(sandbox: Sandbox, id: string): Promise<void> {
    const context = this.get(sandbox, id)
    this.#sandboxes.of(sandbox).delete(id)
    await context.end(sandbox)
  }

  /** Its processes are gone: contexts begin anew. */
  rebooted(id: string): void {
    for (const context of this.#sandboxes.get(id)?.values() ?? []) context.begins()
  }

  forget(id: string): void {
    this.#sandboxes.forget(id)
  }
}

function initialContexts(): Map<string, Context> {
  return new Map(['python', 'javascript'].map((name) => [name, new Context(name, name, DEFAULT_CWD)]))
}

function requireLanguage(language: string): CodeLanguage {
  const found = LANGUAGES[language]
  if (found !== undefined) return found
  throw new HearthError(
    'capability_unsupported',
    `Hearth has no interpreter for ${language.slice(0, 32)}: there are ${Object.keys(LANGUAGES).join(', ')}`,
  )
}
