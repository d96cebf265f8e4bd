import { HearthError, type Process, type ProcessInfo, type Sandbox } from '@hearth/contract'
import type { Message } from '../connect/messages.ts'
import { PerSandbox } from '../per-sandbox.ts'

const MOST_REMEMBERED = 1000

interface Started {
  readonly id: number
  readonly tag: string | undefined
  readonly terminal: boolean
  readonly config: Message<'ProcessConfig'>
}

/** What Hearth does not keep about processes: their tags and how they were asked for. They are gone after a restart. */
export class StartedProcesses {
  readonly #sandboxes = new PerSandbox(() => new Map<number, Started>())

  add(sandbox: Sandbox, process: Process, request: Message<'StartRequest'>): void {
    const { process: config, tag, pty } = request
    if (config === undefined) return
    const known = this.#sandboxes.of(sandbox)
    known.set(process.id, { id: process.id, tag, terminal: pty !== undefined, config })
    const [oldest] = known.keys()
    if (known.size > MOST_REMEMBERED && oldest !== undefined) known.delete(oldest)
  }

  get(sandbox: Sandbox, id: number): Started | null {
    return this.#sandboxes.get(sandbox.id)?.get(id) ?? null
  }

  forget(id: string): void {
    this.#sandboxes.forget(id)
  }

  /** The number of the process that runs, or ran last, under a process id or a tag. */
  async find(sandbox: Sandbox, selector: Message<'Selector'> | undefined): Promise<ProcessInfo> {
    const { pid, tag } = selector ?? {}
    const found = (await sandbox.processes()).filter((info) =>
      pid === undefined ? tag !== undefined && this.get(sandbox, info.id)?.tag === tag : info.pid === pid,
    )
    const process = found.findLast((info) => info.exit === null) ?? found.at(-1)
    if (process !== undefined) return process
    const name = pid === undefined ? `tag ${String(tag)}` : `pid ${pid}`
    throw new HearthError('process_not_found', `process with ${name} not found`)
  }
}
