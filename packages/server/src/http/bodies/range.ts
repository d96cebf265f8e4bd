import { HearthError } from '@hearth/contract'

export interface ByteRange {
  readonly first: number
  readonly length: number
}

/**
 * What a `Range` header asks of a file of this size: null for all of it. More than one range, another unit and nonsense are ignored, as
 * HTTP allows; a range behind the end is `range_unsatisfiable`.
 */
export function parseRange(header: string | undefined, size: number): ByteRange | null {
  const match = /^bytes=(\d{0,16})-(\d{0,16})$/.exec(header?.trim() ?? '')
  if (match === null) return null
  const [, from = '', to = ''] = match
  if (from === '' && to === '') return null
  if (from === '') return lastBytes(Number(to), size)
  const first = Number(from)
  const last = to === '' ? size - 1 : Math.min(Number(to), size - 1)
  if (to !== '' && Number(to) < first) return null
  if (first >= size) throw unsatisfiable(size)
  return { first, length: last - first + 1 }
}

function lastBytes(wanted: number, size: number): ByteRange {
  const length = Math.min(wanted, size)
  if (length === 0) throw unsatisfiable(size)
  return { first: size - length, length }
}

function unsatisfiable(size: number): HearthError {
  return new HearthError('range_unsatisfiable', `the file has ${size} bytes`, { context: { size } })
}
