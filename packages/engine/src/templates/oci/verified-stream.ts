import { createHash } from 'node:crypto'
import { imageInvalid } from './image-error.ts'

export const DIGEST = /^sha256:[0-9a-f]{64}$/

export interface Expectation {
  readonly digest: string
  /** Exact number of bytes; null when only the bound holds. */
  readonly size: number | null
  readonly maximumBytes: number
  readonly what: string
}

/** Passes a stream on and fails at its end unless its bytes have the digest; fails at once when there are too many. */
export async function* verified(
  source: AsyncIterable<Uint8Array>,
  { digest, size, maximumBytes, what }: Expectation,
): AsyncGenerator<Uint8Array, void> {
  if (!DIGEST.test(digest)) throw imageInvalid(`${what} has a digest of an unknown kind`, { digest })
  const hash = createHash('sha256')
  const bound = Math.min(size ?? maximumBytes, maximumBytes)
  let bytes = 0
  for await (const chunk of source) {
    bytes += chunk.length
    if (bytes > bound) throw imageInvalid(`${what} is larger than ${bound} bytes`, { digest, bound })
    hash.update(chunk)
    yield chunk
  }
  if (size !== null && bytes !== size) throw imageInvalid(`${what} has ${bytes} bytes instead of ${size}`, { digest })
  const actual = `sha256:${hash.digest('hex')}`
  if (actual !== digest) throw imageInvalid(`${what} does not have its digest`, { expected: digest, actual })
}

export async function collect(source: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for await (const part of source) parts.push(part)
  return Buffer.concat(parts)
}
