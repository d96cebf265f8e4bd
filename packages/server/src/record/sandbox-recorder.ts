import type { ProcessExit, RecordEntry, Recorder, SandboxId } from '@hearth/contract'

/** Commands whose step is remembered; the oldest go first. */
const MOST_STEPS = 1000

/** Where entries go, with the step that they belong to. */
export interface RecordSink {
  take(sandbox: SandboxId, entry: RecordEntry, step: string | null): void
}

/** The record of one sandbox: knows which commands have not ended, and to which step each belongs. */
export class SandboxRecorder implements Recorder {
  readonly sandbox: SandboxId
  readonly #sink: RecordSink
  readonly #open = new Set<number>()
  readonly #steps = new Map<number, string>()
  readonly #running = new Set<{ readonly step: string | null }>()
  /** False after a restart of the server, until what was recorded before has been compared with what runs. */
  isComplete: boolean

  constructor(sandbox: SandboxId, sink: RecordSink, isComplete: boolean) {
    this.sandbox = sandbox
    this.#sink = sink
    this.isComplete = isComplete
  }

  add(entry: RecordEntry): void {
    if (entry.kind === 'command' && entry.process !== null) this.#begin(entry.process, entry.step)
    if ('step' in entry) {
      const { step, ...rest } = entry
      this.#sink.take(this.sandbox, rest as RecordEntry, step)
    } else {
      this.#sink.take(this.sandbox, entry, this.#stepOf(entry.process))
    }
  }

  /** Commands that were started and whose end is not known. */
  get open(): ReadonlySet<number> {
    return this.#open
  }

  /** A command of before a restart that is in the record already. */
  resume(process: number, step: string | null): void {
    this.#begin(process, step)
  }

  /** However many hear of the end of a command, it is recorded once. */
  exited(process: number, exit: ProcessExit): void {
    if (!this.#open.delete(process)) return
    const { exitCode, signal, durationMs, timedOut, oom } = exit
    this.add({ kind: 'exit', process, exitCode, signal, durationMs: Math.round(durationMs), timedOut, oom })
  }

  /** Its end will never be known: the guest has forgotten it. */
  forget(process: number): void {
    this.#open.delete(process)
  }

  /** While code runs, what its interpreter causes belongs to the step of that code. */
  running(step: string | null): Disposable {
    const code = { step }
    this.#running.add(code)
    return { [Symbol.dispose]: () => void this.#running.delete(code) }
  }

  #begin(process: number, step: string | null): void {
    this.#open.add(process)
    if (step === null) return
    this.#steps.set(process, step)
    if (this.#steps.size <= MOST_STEPS) return
    const [oldest] = this.#steps.keys()
    if (oldest !== undefined) this.#steps.delete(oldest)
  }

  /** An interpreter is no command of the caller's: which code it runs is certain only when it is one. */
  #stepOf(process: number | null): string | null {
    if (process === null) return null
    const known = this.#steps.get(process)
    if (known !== undefined || this.#open.has(process)) return known ?? null
    const [only] = this.#running
    return this.#running.size === 1 && only !== undefined ? only.step : null
  }
}
