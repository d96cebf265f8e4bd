import type { Context } from './context.ts'
import type { PlannedCreate } from './create-request.ts'

/** What is quicker is not worth an event, and more often than this nobody reads. */
const INTERVAL_MS = 1000
const MOST_CHARACTERS = 1024

/** What a create says while it takes long, such as the lines of a build: the newest line each second, as an event of the sandbox. */
export class CreateProgress {
  readonly #context: Pick<Context, 'store' | 'report'>
  readonly #row: Pick<PlannedCreate['row'], 'id' | 'tenantId'>
  readonly #intervalMs: number
  #line = ''
  #timer: NodeJS.Timeout | null = null
  #stopped = false

  constructor(
    context: Pick<Context, 'store' | 'report'>,
    row: Pick<PlannedCreate['row'], 'id' | 'tenantId'>,
    intervalMs = INTERVAL_MS,
  ) {
    this.#context = context
    this.#row = row
    this.#intervalMs = intervalMs
  }

  say(line: string): void {
    const said = line.trim().slice(0, MOST_CHARACTERS)
    if (this.#stopped || said === '' || said === this.#line) return
    this.#line = said
    this.#timer ??= setTimeout(() => void this.#tell(), this.#intervalMs)
  }

  stop(): void {
    this.#stopped = true
    if (this.#timer !== null) clearTimeout(this.#timer)
  }

  async #tell(): Promise<void> {
    this.#timer = null
    const { id: sandboxId, tenantId } = this.#row
    try {
      const data = { line: this.#line }
      await this.#context.store.events.append({ tenantId, sandboxId, type: 'sandbox.progress', data })
    } catch (error) {
      this.#context.report(`what the create of ${sandboxId} says`, error)
    }
  }
}
