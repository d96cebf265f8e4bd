import { HearthError, type Process, type ProcessInfo, type Sandbox } from '@hearth/contract'
import { z } from 'zod'
import type { NoteRepository } from '../../../state/index.ts'
import type { Message } from '../connect/messages.ts'
import { PerSandbox } from '../per-sandbox.ts'

const MOST_REMEMBERED = 1000
const MOST_TAG_CHARACTERS = 1024
const KIND = 'e2b.process'

const noteSchema = z.object({ pid: z.int(), tag: z.string().optional(), terminal: z.boolean() })

interface Started extends z.output<typeof noteSchema> {
  /** As it was asked for. It may hold secrets, so that it is known to the server that was asked alone. */
  readonly config?: Message<'ProcessConfig'>
}

interface Known {
  readonly processes: Map<number, Started>
  /** What a server before this one wrote down. */
  noted: Promise<void> | null
}

/** What Hearth does not keep about processes: their tags, and which have a terminal. Written down, so that another server knows it. */
export class StartedProcesses {
  readonly #notes: NoteRepository
  readonly #sandboxes = new PerSandbox((): Known => ({ processes: new Map(), noted: null }))

  constructor(notes: NoteRepository) {
    this.#notes = notes
  }

  async add(sandbox: Sandbox, { id, pid }: Process, request: Message<'StartRequest'>): Promise<void> {
    const { process: config, tag, pty } = request
    if (config === undefined) return
    const { processes } = this.#sandboxes.of(sandbox)
    const note = { pid, terminal: pty !== undefined, ...(tag === undefined ? {} : { tag }) }
    processes.set(id, { ...note, config })
    const [oldest] = processes.keys()
    if (processes.size > MOST_REMEMBERED && oldest !== undefined) processes.delete(oldest)
    if (note.terminal || tag !== undefined) await this.#notes.put(sandbox.id, KIND, String(id), note, MOST_REMEMBERED)
  }

  /** By their number. */
  async of(sandbox: Sandbox): Promise<ReadonlyMap<number, Started>> {
    const known = this.#sandboxes.of(sandbox)
    known.noted ??= this.#read(sandbox.id, known.processes).catch((error: unknown) => {
      known.noted = null
      throw error
    })
    await known.noted
    return known.processes
  }

  async #read(id: string, processes: Map<number, Started>): Promise<void> {
    for (const { key, value } of await this.#notes.list(id, KIND)) {
      const note = noteSchema.safeParse(value).data
      if (note !== undefined && !processes.has(Number(key))) processes.set(Number(key), note)
    }
  }

  forget(id: string): void {
    this.#sandboxes.forget(id)
  }

  async rebooted(id: string): Promise<void> {
    this.forget(id)
    await this.#notes.remove(id, KIND)
  }

  /** The number of the process that runs, or ran last, under a process id or a tag. */
  async find(sandbox: Sandbox, selector: Message<'Selector'> | undefined): Promise<ProcessInfo> {
    const { pid, tag } = selector ?? {}
    const started = await this.of(sandbox)
    const isTagged = ({ id, pid: own }: ProcessInfo): boolean => {
      const known = started.get(id)
      return tag !== undefined && known?.tag === tag && known.pid === own
    }
    const found = (await sandbox.processes()).filter((info) => (pid === undefined ? isTagged(info) : info.pid === pid))
    const process = found.findLast((info) => info.exit === null) ?? found.at(-1)
    if (process !== undefined) return process
    const name = pid === undefined ? `tag ${String(tag)}` : `pid ${pid}`
    throw new HearthError('process_not_found', `process with ${name} not found`)
  }
}

/** Before anything is started. */
export function requireTag(tag: string | undefined): void {
  if (tag === undefined || tag.length <= MOST_TAG_CHARACTERS) return
  throw new HearthError('invalid_request', `tag: must have at most ${MOST_TAG_CHARACTERS} characters`)
}
