import { HearthError, newId, type SandboxId } from '@hearth/contract'
import { z } from 'zod'
import type { Note, NoteRepository } from '../../state/index.ts'

export interface CodeSession {
  readonly id: string
  readonly sandbox: SandboxId
  readonly createdAt: Date
}

/** Of one sandbox; beyond it the oldest goes. */
const MOST_SESSIONS = 100
const KIND = 'pandastack.session'
/** Whether it has run something, and so has an interpreter. */
const noteSchema = z.object({ begun: z.boolean() })

/** Which interpreters clients have asked for. Their variables live in the sandbox, and both outlive the server. */
export class CodeSessions {
  readonly #notes: NoteRepository
  /** What ends a session's cells, while it has any. */
  readonly #running = new Map<string, Set<AbortController>>()

  constructor(notes: NoteRepository) {
    this.#notes = notes
  }

  async open(sandbox: SandboxId): Promise<CodeSession> {
    const session = { id: newId('code'), sandbox, createdAt: new Date() }
    await this.#notes.put(sandbox, KIND, session.id, { begun: false }, MOST_SESSIONS)
    return session
  }

  async of(sandbox: SandboxId): Promise<CodeSession[]> {
    const notes = await this.#notes.list(sandbox, KIND)
    return notes.map(({ key, createdAt }) => ({ id: key, sandbox, createdAt: new Date(createdAt) }))
  }

  /** Runs something in it, with a signal that comes when it is closed. */
  async run<T>(id: string, sandbox: SandboxId, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (!hasBegun(await this.#get(id, sandbox))) {
      await this.#notes.put(sandbox, KIND, id, { begun: true }, MOST_SESSIONS)
    }
    const stop = new AbortController()
    const running = this.#running.get(id) ?? new Set()
    this.#running.set(id, running.add(stop))
    try {
      return await work(stop.signal)
    } finally {
      running.delete(stop)
      if (running.size === 0 && this.#running.get(id) === running) this.#running.delete(id)
    }
  }

  /** Whether it may have an interpreter, which nobody reaches any more. */
  async close(id: string, sandbox: SandboxId): Promise<boolean> {
    const note = await this.#get(id, sandbox)
    await this.#notes.remove(sandbox, KIND, id)
    for (const stop of this.#running.get(id) ?? []) stop.abort(new HearthError('aborted', 'the session was closed'))
    return hasBegun(note)
  }

  async #get(id: string, sandbox: SandboxId): Promise<Note> {
    const note = (await this.#notes.list(sandbox, KIND)).find(({ key }) => key === id)
    if (note === undefined) throw new HearthError('not_found', 'there is no such session')
    return note
  }
}

function hasBegun({ value }: Note): boolean {
  return noteSchema.safeParse(value).data?.begun ?? true
}
