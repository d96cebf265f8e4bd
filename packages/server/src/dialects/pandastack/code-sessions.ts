import { HearthError, newId, type SandboxId } from '@hearth/contract'

export interface CodeSession {
  readonly id: string
  readonly sandbox: SandboxId
  readonly createdAt: Date
  /** Ends what it runs. */
  readonly stop: AbortController
}

const MOST_SESSIONS = 1000

/** Which interpreters clients have asked for. Their variables live in the sandbox; what is lost here with a restart is only the names. */
export class CodeSessions {
  readonly #sessions = new Map<string, CodeSession>()
  /** Those that have run something, and so have an interpreter. */
  readonly #begun = new WeakSet<CodeSession>()

  open(sandbox: SandboxId): CodeSession {
    const session = { id: newId('code'), sandbox, createdAt: new Date(), stop: new AbortController() }
    this.#sessions.set(session.id, session)
    const [oldest] = this.#sessions.keys()
    if (this.#sessions.size > MOST_SESSIONS && oldest !== undefined) this.#sessions.delete(oldest)
    return session
  }

  of(sandbox: SandboxId): CodeSession[] {
    return [...this.#sessions.values()].filter((session) => session.sandbox === sandbox)
  }

  get(id: string, sandbox: SandboxId): CodeSession {
    const session = this.#sessions.get(id)
    if (session?.sandbox !== sandbox) throw new HearthError('not_found', 'there is no such session')
    return session
  }

  /** Before something is run in it. */
  begin(id: string, sandbox: SandboxId): CodeSession {
    const session = this.get(id, sandbox)
    this.#begun.add(session)
    return session
  }

  /** Whether it may have an interpreter, which nobody reaches any more. */
  close(id: string, sandbox: SandboxId): boolean {
    const session = this.get(id, sandbox)
    this.#sessions.delete(id)
    session.stop.abort(new HearthError('aborted', 'the session was closed'))
    return this.#begun.has(session)
  }
}
