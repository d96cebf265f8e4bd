import type { Process } from '@hearth/contract'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
/** After a request to end, a command has this long to do so. An interrupt is not one: programs may live on after it. */
const GRACE_MS = 10_000

/**
 * Passes the signals that this process gets on to the command inside. Before there is a command they stop what is under way;
 * a second one kills the command.
 */
export class Interrupts implements Disposable {
  readonly #controller = new AbortController()
  readonly #listener = (name: NodeJS.Signals): void => this.#receive(name)
  #target: Process | null = null
  #grace: NodeJS.Timeout | null = null
  #first: NodeJS.Signals | null = null

  constructor() {
    for (const name of SIGNALS) process.on(name, this.#listener)
  }

  /** Aborts when a signal arrives before the command has been started. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** The first signal that arrived. */
  get received(): NodeJS.Signals | null {
    return this.#first
  }

  /** From here on signals go to this command. */
  forwardTo(target: Process): void {
    this.#target = target
    if (this.#first !== null) this.#forward(target, this.#first)
  }

  [Symbol.dispose](): void {
    for (const name of SIGNALS) process.off(name, this.#listener)
    if (this.#grace !== null) clearTimeout(this.#grace)
  }

  #receive(name: NodeJS.Signals): void {
    const second = this.#first !== null
    this.#first ??= name
    if (this.#target === null) this.#controller.abort(new Error(`stopped by ${name}`))
    else if (second) this.#kill(this.#target)
    else this.#forward(this.#target, name)
  }

  #forward(target: Process, name: NodeJS.Signals): void {
    target.signal(name).catch(ignoreEnded)
    if (name !== 'SIGINT') this.#grace ??= setTimeout(() => this.#kill(target), GRACE_MS)
  }

  #kill(target: Process): void {
    target.kill().catch(ignoreEnded)
  }
}

/** The command may have ended while the signal was under way; how it ended is reported by the one who waits for it. */
function ignoreEnded(): void {}
