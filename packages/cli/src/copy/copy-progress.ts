import { printable } from '../output/printable.ts'
import { Progress } from '../output/progress.ts'
import { formatBytes } from '../output/table.ts'

export interface LeftOut {
  readonly path: string
  readonly reason: string
}

/** Counts what is copied, shows it on a terminal, and remembers what was left out and why. */
export class CopyProgress implements Disposable {
  readonly #progress: Progress
  readonly #leftOut: LeftOut[] = []
  readonly #quiet: boolean
  #entries = 0
  #bytes = 0

  constructor(quiet: boolean) {
    this.#quiet = quiet
    this.#progress = new Progress(quiet || !process.stderr.isTTY)
  }

  get summary(): { readonly entries: number; readonly bytes: number; readonly leftOut: readonly LeftOut[] } {
    return { entries: this.#entries, bytes: this.#bytes, leftOut: this.#leftOut }
  }

  entry(path: string): void {
    this.#entries++
    this.#show(path)
  }

  bytes(count: number): void {
    this.#bytes += count
    this.#show('')
  }

  leaveOut(path: string, reason: string): void {
    this.#leftOut.push({ path, reason })
    if (!this.#quiet) process.stderr.write(`hearth: left out ${printable(path)}: ${reason}\n`)
  }

  [Symbol.dispose](): void {
    this.#progress.stop()
  }

  #show(path: string): void {
    const entries = this.#entries === 0 ? '' : `, ${this.#entries} entries ${printable(path)}`
    this.#progress.say(`${formatBytes(this.#bytes)}${entries}`)
  }
}
