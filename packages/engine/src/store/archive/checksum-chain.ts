import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { TreeRecord } from './tree-record.ts'

const sha256 = z.string().regex(/^[0-9a-f]{64}$/)

/** The last entry of an archive. */
export const checksumsSchema = z.strictObject({
  manifest: sha256,
  /** Over all that is said of each entry of the disk, in order, and over the sum of its content. */
  disk: sha256,
  memory: z.record(z.string(), sha256),
  /** Over the above. */
  whole: sha256,
})
export type Checksums = z.output<typeof checksumsSchema>

/** Sums up a tree, entry by entry. */
export class ChecksumChain {
  readonly #hash = createHash('sha256')

  add(record: TreeRecord, content: string): void {
    const { type, mode, uid, gid, seconds, nanoseconds, size, opaque } = record
    const attributes = record.attributes.map(({ name, value }) => [name, value.toString('hex')])
    const segments = record.segments.map(({ offset, length }) => [offset, length])
    const names = [record.path.toString('hex'), record.target.toString('hex')]
    const facts = [type, ...names, mode, uid, gid, seconds, nanoseconds, size, opaque, attributes, segments, content]
    this.#hash.update(`${JSON.stringify(facts)}\n`)
  }

  digest(): string {
    return this.#hash.digest('hex')
  }
}

export function sumUp(parts: Omit<Checksums, 'whole'>): Checksums {
  const memory = Object.entries(parts.memory).toSorted(([one], [other]) => (one < other ? -1 : 1))
  const whole = sumOf(JSON.stringify([parts.manifest, parts.disk, memory]))
  return { ...parts, whole }
}

export function sumOf(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}
