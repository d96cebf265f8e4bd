import { randomUUID } from 'node:crypto'
import { HearthError } from '@hearth/contract'
import { z } from 'zod'
import type { Caller } from '../../../control-plane.ts'
import { unsupported } from '../failures.ts'

const MOST_ENTRIES = 10_000
const PAGE = 100
const text = z.string().max(64 * 1024)

/** What is to be done, in E2B's words. */
export const recipeSchema = z.object({
  fromImage: z.string().max(512).nullish(),
  fromTemplate: z.string().max(512).nullish(),
  fromImageRegistry: z.unknown().optional(),
  steps: z
    .array(z.object({ type: z.string().max(32), args: z.array(text).max(1000).nullish() }))
    .max(1000)
    .nullish(),
  startCmd: text.nullish(),
  readyCmd: text.nullish(),
})
export type Recipe = z.output<typeof recipeSchema>

interface Entry {
  readonly timestamp: string
  readonly level: 'info' | 'error'
  readonly message: string
}

/** One build of a template, from the request to its end. It is known to this server alone; what it makes is a snapshot. */
export class Build {
  readonly id = randomUUID()
  readonly name: string
  readonly caller: Caller
  readonly #entries: Entry[] = []
  #status: 'waiting' | 'building' | 'ready' | 'error' = 'waiting'
  #reason: { readonly message: string; readonly step: string } | null = null

  constructor(name: string, caller: Caller) {
    this.name = name
    this.caller = caller
  }

  get over(): boolean {
    return this.#status === 'ready' || this.#status === 'error'
  }

  get isRunning(): boolean {
    return this.#status === 'building'
  }

  /** A build is started once. */
  begin(): void {
    if (this.#status !== 'waiting') throw new HearthError('conflict', `build ${this.id} was started already`)
    this.#status = 'building'
  }

  log(message: string, level: Entry['level'] = 'info'): void {
    if (this.#entries.length >= MOST_ENTRIES) return
    this.#entries.push({ timestamp: new Date().toISOString(), level, message: message.slice(0, 4096) })
  }

  finished(): void {
    this.#status = 'ready'
  }

  /** `step`: the number of the instruction, or `base` or `finalize`. */
  failed(message: string, step: string): void {
    this.log(message, 'error')
    this.#reason = { message, step }
    this.#status = 'error'
  }

  /** At most a page of what was said after the first `offset` entries. */
  view(offset: number): Record<string, unknown> {
    const entries = this.#entries.slice(offset, offset + PAGE)
    return {
      templateID: this.name,
      buildID: this.id,
      status: this.#status,
      logs: entries.map(({ message }) => message),
      logEntries: entries,
      ...(this.#reason === null ? {} : { reason: { ...this.#reason, logEntries: [] } }),
    }
  }
}

/** Where a recipe leaves the user, the directory and the environment: what sandboxes of the template begin with. */
export interface Place {
  readonly user: string | null
  readonly workdir: string | null
  readonly env: Readonly<Record<string, string>>
}

export const START: Place = { user: null, workdir: null, env: {} }

/** The place after an instruction; one that cannot be carried out here is refused by its name. */
export function placeAfter(place: Place, type: string, args: readonly string[]): Place {
  switch (type.toUpperCase()) {
    case 'RUN':
      return place
    case 'USER':
      return { ...place, user: args[0] ?? null }
    case 'WORKDIR':
      return { ...place, workdir: args[0] ?? null }
    case 'ENV': {
      const pairs = args.flatMap((name, index) => (index % 2 === 0 ? [[name, args[index + 1] ?? '']] : []))
      return { ...place, env: { ...place.env, ...(Object.fromEntries(pairs) as Record<string, string>) } }
    }
    default:
      throw unsupported(`${type.slice(0, 32)} in a template build; write files into a sandbox and take a snapshot`)
  }
}
