import { spawn, type ChildProcess } from 'node:child_process'
import type { HearthError } from '@hearth/contract'
import { ByteReader } from '../../templates/tar/byte-reader.ts'
import { storeError } from '../store-helper.ts'
import { corrupt } from './archive-format.ts'
import { encodeEnd, encodeRecord, readRecord, segmentBytes, type TreeRecord } from './tree-record.ts'

/** Errors that an archive brings about, not the host: a name twice, a directory that is none, a link to nothing. */
const OF_THE_ARCHIVE = new Set([2, 17, 18, 20, 21, 22, 36, 40, 71])

export interface PackedEntry {
  readonly record: TreeRecord
  /** To be read before the next entry is asked for. */
  readonly bytes: AsyncIterable<Buffer>
}

/** The entries of a directory, as the guest program's `store pack` finds them. */
export async function* packTree(guest: string, directory: string): AsyncGenerator<PackedEntry, void> {
  const child = spawn(guest, ['store', 'pack', directory], { stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = outcome(child)
  const reader = new ByteReader(child.stdout)
  try {
    for (;;) {
      const record = await readRecord(reader).catch(async (error: unknown) => {
        throw (await ended) ?? error
      })
      if (record === null) break
      yield { record, bytes: content(reader, segmentBytes(record.segments)) }
    }
    const failure = await ended
    if (failure !== null) throw failure
  } finally {
    child.kill('SIGKILL')
  }
}

async function* content(reader: ByteReader, count: number): AsyncGenerator<Buffer, void> {
  for (let left = count; left > 0;) {
    const part = await reader.some(left)
    if (part === null) throw storeError(0, 'the records of a tree are broken')
    left -= part.length
    yield part
  }
}

/** Makes a tree of records in an empty directory, through the guest program's `store unpack`. */
export class TreeWriter implements AsyncDisposable {
  readonly #child: ChildProcess
  readonly #ended: Promise<HearthError | null>

  constructor(guest: string, directory: string) {
    this.#child = spawn(guest, ['store', 'unpack', directory], { stdio: ['pipe', 'ignore', 'pipe'] })
    // It ended early: its word is worth more than the broken pipe.
    this.#child.stdin?.on('error', () => undefined)
    this.#ended = outcome(this.#child)
  }

  async write(record: TreeRecord, bytes: AsyncIterable<Buffer>): Promise<void> {
    await this.#send(encodeRecord(record))
    for await (const part of bytes) await this.#send(part)
  }

  async finish(): Promise<void> {
    await this.#send(encodeEnd())
    this.#child.stdin?.end()
    const failure = await this.#ended
    if (failure !== null) throw failure
  }

  async #send(bytes: Buffer): Promise<void> {
    const { stdin } = this.#child
    if (stdin === null || stdin.destroyed) return await this.#fail()
    // A copy: the reader may use its buffer again before the pipe has taken it.
    if (stdin.write(Buffer.from(bytes))) return
    const room = new Promise<void>((resolve) => {
      stdin.once('drain', resolve)
    })
    await Promise.race([room, this.#ended])
  }

  async #fail(): Promise<never> {
    throw (await this.#ended) ?? storeError(0, 'the tree was not taken to its end')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#ended
  }
}

/** Null when it did all that it should. */
async function outcome(child: ChildProcess): Promise<HearthError | null> {
  let said = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    said = (said + chunk.toString()).slice(-2000)
  })
  const code = await new Promise<number | null>((resolve) => {
    child.once('error', (error) => {
      said = error.message
      resolve(null)
    })
    child.once('close', (status) => resolve(status))
  })
  if (code === 0) return null
  const [, number = '0', text = said] = /^(\d+) (.*)$/s.exec(said.trim()) ?? []
  return OF_THE_ARCHIVE.has(Number(number)) ? corrupt(text) : storeError(Number(number), text)
}
