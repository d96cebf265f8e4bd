import { setTimeout as sleep } from 'node:timers/promises'
import { HearthError, type Hearth, type RemoteSandbox } from '@hearth/sdk'
import type { CreateSandbox } from '@hearth/contract'
import { Unfinished } from './patience.ts'
import { Renewals } from './renewals.ts'
import { specOver } from './spec.ts'

/** Where the whole text of a long output is kept in a sandbox. */
const KEPT_DIRECTORY = '/tmp/hearth-output'
/** How long the end of a session waits for a sandbox that is being made. */
const PARTING_MS = 5000

/** A sandbox that tools work in, and what they remember of it. */
export interface Workplace {
  readonly sandbox: RemoteSandbox
  /** Relative paths begin here. */
  readonly workdir: string
  readonly keptDirectory: string
  /** How far the output of each process was shown. */
  readonly readOffsets: Map<number, number>
}

export interface SessionOptions {
  readonly hearth: Hearth
  /** Any sandbox of the key may be named, and tools make and remove them. Otherwise there is one, and what was forked of it. */
  readonly multi: boolean
  /** The one sandbox. Default: one is made when it is first needed. */
  readonly sandbox?: string
  /** What sandboxes of this session are made of, unless a call says otherwise. */
  readonly spec?: CreateSandbox
  /** How long a call waits for a sandbox that is being made. Default: as long as clients wait. */
  readonly patienceMs?: number
}

/** The sandboxes of one client. */
export class Session implements AsyncDisposable {
  readonly hearth: Hearth
  readonly multi: boolean
  readonly patienceMs: number | undefined
  /** What took longer than a client waits. */
  readonly unfinished = new Unfinished()
  readonly #options: SessionOptions
  readonly #workplaces = new Map<string, Promise<Workplace>>()
  /** Made for this session, and ended with it. */
  readonly #own = new Set<string>()
  /** Those that were the one of this session, one after the other. */
  readonly #mains = new Set<string>()
  readonly #renewals: Renewals
  #main: Promise<RemoteSandbox> | null = null

  constructor(options: SessionOptions) {
    this.#options = options
    this.hearth = options.hearth
    this.multi = options.multi
    this.patienceMs = options.patienceMs
    this.#renewals = new Renewals(options.spec ?? {})
  }

  /** The sandbox that a call names, or else the one of this session. */
  async workplace(id: string | undefined): Promise<Workplace> {
    const wanted = id ?? (await this.#mainId())
    if (!this.multi && id !== undefined && !this.#own.has(id) && id !== (await this.#mainId())) {
      throw new HearthError('sandbox_not_found', `${id} is not a sandbox of this session`)
    }
    let opening = this.#workplaces.get(wanted)
    if (opening === undefined) {
      opening = this.#open(wanted)
      this.#workplaces.set(wanted, opening)
      opening.catch(() => this.#workplaces.delete(wanted))
    }
    return await opening
  }

  /** The signal ends it while it is being made. */
  async create(asked: CreateSandbox, signal: AbortSignal): Promise<RemoteSandbox> {
    return await this.hearth.create(specOver(this.#options.spec ?? {}, asked), { signal })
  }

  /** Children of a sandbox of this session are its own. */
  adopt(child: RemoteSandbox): void {
    this.#own.add(child.id)
    if (!this.multi) this.#renewals.hold(child)
  }

  /** Another takes the place of the one sandbox of this session, which has ended. Null when it is not this session's to make. */
  async successor(ended: string | undefined): Promise<HearthError | null> {
    const main = this.#main
    const id = ended ?? (await main)?.id
    if (this.multi || this.#options.sandbox !== undefined || id === undefined || !this.#mains.has(id)) return null
    this.#renewals.drop(id)
    this.#workplaces.delete(id)
    // Of several calls that find it gone, the first makes another.
    if ((await main)?.id === id && this.#main === main) this.#main = null
    const next = await this.#mainId()
    const kept = this.#options.spec?.workspace === undefined ? '' : ', except for its workspace'
    return new HearthError('sandbox_ended', `${id} has ended, and its files are gone${kept}. ${next} takes its place`, {
      suggestion: 'Make the call again: it works in the new sandbox, which is as this one was at the beginning.',
    })
  }

  async destroy(id: string): Promise<void> {
    this.#workplaces.delete(id)
    this.#renewals.drop(id)
    await (await this.hearth.get(id)).kill()
  }

  async #open(id: string): Promise<Workplace> {
    const sandbox = await this.hearth.get(id)
    const { stdout } = await sandbox.exec(['pwd'])
    return { sandbox, workdir: stdout.trim() || '/', keptDirectory: KEPT_DIRECTORY, readOffsets: new Map() }
  }

  async #mainId(): Promise<string> {
    const { sandbox, spec } = this.#options
    if (sandbox !== undefined) return sandbox
    if (this.multi) {
      throw new HearthError(
        'invalid_request',
        'say which sandbox: `list_sandboxes` shows them, `create_sandbox` makes one',
      )
    }
    this.#main ??= this.hearth.create({ ...spec, metadata: { ...spec?.metadata, client: 'mcp' } }).then((made) => {
      this.adopt(made)
      this.#mains.add(made.id)
      return made
    })
    this.#main.catch(() => {
      this.#main = null
    })
    return (await this.#main).id
  }

  /** Ends what was made for this session alone, also what is still being made. Deadlines end what cannot be reached now. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#renewals[Symbol.dispose]()
    if (this.multi) return
    await Promise.race([this.#main?.catch(() => undefined), sleep(PARTING_MS, undefined, { ref: false })])
    await Promise.allSettled([...this.#own].map((id) => this.destroy(id)))
  }
}
