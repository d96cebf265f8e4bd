import { spawn, type ChildProcess } from 'node:child_process'
import { fstatSync } from 'node:fs'

/**
 * Aborts when the reader of our output has gone, also while there is nothing to write: as with `| head`. Node does not tell of that before the next
 * write, so that `tail`, which does, has the same output, and ends with this process. Without it the next write finds out.
 */
export class ReaderGone implements Disposable {
  readonly #controller = new AbortController()
  readonly #watcher: ChildProcess | null

  constructor() {
    this.#watcher = fstatSync(1).isFIFO() ? watch(() => this.#controller.abort(brokenPipe())) : null
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  [Symbol.dispose](): void {
    this.#watcher?.removeAllListeners('exit').kill()
  }
}

function watch(onEnd: () => void): ChildProcess {
  const arguments_ = ['-f', `--pid=${process.pid}`, '/dev/null']
  const watcher = spawn('tail', arguments_, { stdio: ['ignore', 1, 'ignore'] })
  // Where there is no such program, or another one of that name, nothing is known.
  watcher.on('error', () => undefined)
  watcher.on('exit', (_code, signal) => {
    if (signal === 'SIGPIPE') onEnd()
  })
  watcher.unref()
  return watcher
}

/** What a write would have found. */
function brokenPipe(): Error {
  return Object.assign(new Error('the reader of the output has gone'), { code: 'EPIPE' })
}
