import type { OutputChunk, Process, ProcessExit } from '@hearth/contract'
import { headAndTail, plainText } from './observation.ts'
import type { ToolContext, ToolResult } from './tool.ts'

/** A command that writes more is ended: nobody reads it, and it would go on until its time is over. */
export const MOST_OUTPUT_BYTES = 8 * 1024 * 1024

type Ending =
  | { readonly kind: 'exited'; readonly exit: ProcessExit }
  | { readonly kind: 'yielded' }
  | { readonly kind: 'flooded' }
  | { readonly kind: 'stopped' }

export interface Followed {
  readonly bytes: Uint8Array
  /** Output that was no longer there to be read. */
  readonly dropped: number
  readonly offset: number
  readonly ending: Ending
}

/** Reads what a process writes until it ends, the time to wait is over, or it is too much. One that goes on has no reader then. */
export async function follow(process: Process, waitMs: number, signal: AbortSignal): Promise<Followed> {
  const chunks: Uint8Array[] = []
  let size = 0
  let dropped = 0
  let offset = 0
  const take = (chunk: OutputChunk): void => {
    dropped += chunk.dropped
    offset = chunk.offset + chunk.data.length
    size += chunk.data.length
    chunks.push(chunk.data)
  }
  using wait = new Wait(waitMs, signal)
  const iterator = process.output[Symbol.asyncIterator]()
  const ending = await (async (): Promise<Ending> => {
    for (;;) {
      const next = await Promise.race([iterator.next(), wait.over])
      if (next === 'yielded') return await letGo(process)
      if (next === 'stopped') return await end(process, 'stopped')
      if (next.done === true) return { kind: 'exited', exit: await process.wait() }
      take(next.value)
      if (size > MOST_OUTPUT_BYTES) return await end(process, 'flooded')
    }
  })()
  return { bytes: Buffer.concat(chunks).subarray(0, MOST_OUTPUT_BYTES), dropped, offset, ending }
}

async function letGo(process: Process): Promise<Ending> {
  await process.detach()
  return { kind: 'yielded' }
}

/** SAFETY: the whole tree, also what has detached itself. */
async function end(process: Process, kind: 'flooded' | 'stopped'): Promise<Ending> {
  await process.kill()
  await process[Symbol.asyncDispose]()
  return { kind }
}

/** Resolves when a time is over or a signal comes, and leaves nothing behind. */
class Wait implements Disposable {
  readonly over: Promise<'yielded' | 'stopped'>
  readonly #cancel: () => void

  constructor(milliseconds: number, signal: AbortSignal) {
    const { promise, resolve } = Promise.withResolvers<'yielded' | 'stopped'>()
    this.over = promise
    const timer = setTimeout(() => resolve('yielded'), milliseconds)
    const stop = (): void => resolve('stopped')
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
    this.#cancel = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', stop)
    }
  }

  [Symbol.dispose](): void {
    this.#cancel()
  }
}

/** What the model is told: first how it ended, then what it wrote. */
export async function report(process: Process, followed: Followed, context: ToolContext): Promise<ToolResult> {
  const { bytes, dropped, ending } = followed
  context.readOffsets.set(process.id, followed.offset)
  const text = await headAndTail(plainText(bytes), bytes, context)
  const lost = dropped > 0 ? `[${dropped} bytes before this were no longer kept]\n` : ''
  const output = text === '' ? '(no output)' : `${lost}${text}`
  const said = `${heading(process, ending)}\n${output}`
  if (ending.kind === 'yielded') return { text: said, process: process.id }
  if (ending.kind === 'stopped') return { text: said, failed: true, interrupted: true }
  const failed = ending.kind === 'flooded' || ending.exit.exitCode !== 0
  return { text: said, failed }
}

function heading(process: Process, ending: Ending): string {
  switch (ending.kind) {
    case 'yielded':
      return `still running as process ${process.id}; bash_output shows what it writes, bash_kill ends it`
    case 'flooded':
      return `ended, with everything it had started, because it wrote more than ${MOST_OUTPUT_BYTES} bytes; send long output to a file`
    case 'stopped':
      return 'stopped, with everything it had started, because the run was stopped'
    case 'exited':
      return exitHeading(ending.exit)
  }
}

function exitHeading(exit: ProcessExit): string {
  if (exit.timedOut)
    return `timed out after ${Math.round(exit.durationMs / 1000)} s and was ended with everything it had started`
  const code = exit.exitCode === null ? `ended by ${exit.signal}` : `exit code ${exit.exitCode}`
  return exit.oom ? `${code}; the memory limit was reached` : code
}
