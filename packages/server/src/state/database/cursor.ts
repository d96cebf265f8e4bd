import { HearthError } from '@hearth/contract'

/** The last row of a page. A client sends it back as it got it; it grants nothing, since the filters apply to every page. */
export interface Position {
  readonly createdAt: number
  readonly id: string
}

/** `MILLISECONDS.ID` in base64url. */
const POSITION = /^(\d{1,15})\.([a-z0-9_]{1,64})$/

const NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/

const MAXIMUM_CHARACTERS = 120

export function encodeCursor(position: Position): string {
  return Buffer.from(`${position.createdAt}.${position.id}`).toString('base64url')
}

/** `invalid_request` for anything that `encodeCursor` did not make. */
export function decodeCursor(cursor: string): Position {
  const [, createdAt, id] = POSITION.exec(decoded(cursor)) ?? []
  if (createdAt === undefined || id === undefined) throw unknownCursor()
  return { createdAt: Number(createdAt), id }
}

/** The last name of a page, in a list by name. */
export function encodeNameCursor(name: string): string {
  return Buffer.from(name).toString('base64url')
}

/** `invalid_request` for anything that `encodeNameCursor` did not make. */
export function decodeNameCursor(cursor: string): string {
  const name = decoded(cursor)
  if (!NAME.test(name)) throw unknownCursor()
  return name
}

function decoded(cursor: string): string {
  return cursor.length > MAXIMUM_CHARACTERS ? '' : Buffer.from(cursor, 'base64url').toString()
}

function unknownCursor(): HearthError {
  return new HearthError('invalid_request', 'cursor: is not one that a list has returned')
}
