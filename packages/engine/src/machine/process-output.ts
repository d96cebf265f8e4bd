import type { HearthError, OutputChunk } from '@hearth/contract'
import { ChunkQueue } from '../link/chunk-queue.ts'
import type { Messages } from '../link/messages.gen.ts'
import { Pull } from '../link/pull.ts'
import { exactNumber, WireError } from '../link/wire.ts'

const STREAMS = 4

/** Output of one process on its way to one reader: offsets checked, gaps counted, credit given back as it is taken. */
export class ProcessOutput {
  readonly chunks: Pull<OutputChunk>
  readonly #grant: (bytes: number) => void
  readonly #queue = new ChunkQueue()
  /** Gaps whose chunk is still queued, oldest first. The tag of a piece is its stream and the number of gaps before it. */
  readonly #gaps: number[] = []
  #gapCount = 0
  #gapsTaken = 0
  #received: number
  #taken: number
  #begun: boolean
  #discarding = false
  #drained: (() => void) | null = null

  /** `offset` is where the reader wants to begin; a new process always begins at 0. */
  constructor(offset: number, grant: (bytes: number) => void) {
    this.#received = offset
    this.#taken = offset
    this.#begun = offset === 0
    this.#grant = grant
    this.chunks = new Pull({ take: () => this.#take(), abandoned: () => this.discard() })
  }

  get empty(): boolean {
    return this.#queue.empty
  }

  receive(message: Messages['Output'], stable: boolean): void {
    if (message.stream !== 1 && message.stream !== 2) throw new WireError(`stream ${message.stream} does not exist`)
    const offset = exactNumber(message.offset, 'an offset')
    // A reader may have asked for more than there is yet: it then begins at the end.
    if (!this.#begun && offset < this.#received) this.#received = this.#taken = offset
    this.#begun = true
    if (offset < this.#received) throw new WireError('output went back to an earlier offset')
    const { bytes } = message
    if (bytes.length === 0) return
    if (offset > this.#received) {
      this.#gaps.push(offset - this.#received)
      this.#gapCount++
    }
    this.#received = offset + bytes.length
    if (this.#discarding) return this.#grant(bytes.length)
    this.#queue.push(message.stream + this.#gapCount * STREAMS, bytes, stable)
    this.chunks.notify()
  }

  /** The process has ended after this many bytes. */
  end(outputBytes: bigint): void {
    const size = exactNumber(outputBytes, 'the size of the output')
    if (this.#begun && size < this.#received) throw new WireError('less output than was sent')
    this.chunks.end(null)
  }

  fail(error: HearthError | null): void {
    this.chunks.end(error)
  }

  /** Nobody reads it: what there is and what comes is thrown away, so that the process does not wait. */
  discard(): void {
    if (this.#discarding) return
    this.#discarding = true
    for (let chunk = this.#take(); chunk !== undefined; chunk = this.#take());
  }

  /** Calls back once everything that has come so far is taken or thrown away. */
  whenEmpty(callback: () => void): void {
    if (this.empty) callback()
    else this.#drained = callback
  }

  #take(): OutputChunk | undefined {
    const piece = this.#queue.take()
    if (piece === undefined) return undefined
    let dropped = 0
    if (this.#gapsTaken !== Math.floor(piece.tag / STREAMS)) {
      this.#gapsTaken++
      dropped = this.#gaps.shift() ?? 0
    }
    const offset = this.#taken + dropped
    this.#taken = offset + piece.data.length
    this.#grant(piece.data.length)
    if (this.#queue.empty) this.#drained?.()
    return { stream: piece.tag % STREAMS === 1 ? 'stdout' : 'stderr', data: piece.data, offset, dropped }
  }
}
