import { HearthError } from '@hearth/contract'
import { defaultOf, fieldsOf, isDefault, type Field, type Kind } from './fields.ts'
import type { Draft, Message, MessageName } from './messages.ts'

/** Messages as proto3 JSON has them. */
export function toJson<Name extends MessageName>(name: Name, message: Draft<Name>): string {
  return JSON.stringify(plain(name, message as Record<string, unknown>))
}

export function fromJson<Name extends MessageName>(name: Name, text: string): Message<Name> {
  let value: unknown
  try {
    value = JSON.parse(text === '' ? '{}' : text)
  } catch {
    throw malformed('is not JSON')
  }
  return parse(name, value) as Message<Name>
}

function plain(name: MessageName, message: Record<string, unknown>): Record<string, unknown> {
  const written: Record<string, unknown> = {}
  for (const field of fieldsOf(name)) {
    const value = message[field.name]
    if (isDefault(field, value)) continue
    written[field.name] = field.repeated
      ? (value as readonly unknown[]).map((item) => plainValue(field.kind, item))
      : plainValue(field.kind, value)
  }
  return written
}

function plainValue(kind: Kind, value: unknown): unknown {
  if (kind.type === 'message') return plain(kind.message, value as Record<string, unknown>)
  if (kind.type === 'bytes') {
    const bytes = value as Uint8Array
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
  }
  if (kind.type === 'Timestamp') return (value as Date).toISOString()
  return kind.type === 'int64' ? String(value) : value
}

function parse(name: MessageName, value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw malformed('is not an object')
  const given = value as Record<string, unknown>
  const message: Record<string, unknown> = {}
  for (const field of fieldsOf(name)) {
    const found = given[field.name] ?? given[snakeCase(field.name)]
    message[field.name] = found === undefined || found === null ? defaultOf(field) : parseField(field, found)
  }
  return message
}

function parseField(field: Field, value: unknown): unknown {
  if (!field.repeated) return parseValue(field, value)
  if (!Array.isArray(value)) throw malformed(`${field.name} is not a list`)
  return value.map((item: unknown) => parseValue(field, item))
}

function parseValue({ kind, name }: Field, value: unknown): unknown {
  if (kind.type === 'message') return parse(kind.message, value)
  const parsed = typeof value === 'object' ? parseMap(kind, value) : parseScalar(kind, value)
  if (parsed === null) throw malformed(`${name} has a wrong type`)
  return parsed
}

function parseScalar(kind: Kind, value: unknown): unknown {
  switch (kind.type) {
    case 'string':
      return typeof value === 'string' ? value : null
    case 'bool':
      return typeof value === 'boolean' ? value : null
    case 'bytes':
      return typeof value === 'string' ? new Uint8Array(Buffer.from(value, 'base64')) : null
    case 'enumeration':
      return typeof value === 'number' ? (kind.names[value] ?? null) : kind.numbers.has(String(value)) ? value : null
    case 'Timestamp':
      return typeof value === 'string' && !Number.isNaN(Date.parse(value)) ? new Date(value) : null
    default:
      return parseInteger(kind, value)
  }
}

function parseInteger({ type }: Kind, value: unknown): number | null {
  const number = typeof value === 'string' && /^-?\d{1,16}$/.test(value) ? Number(value) : value
  if (typeof number !== 'number' || !Number.isSafeInteger(number)) return null
  if (type === 'uint32') return number >= 0 && number < 2 ** 32 ? number : null
  return type === 'int64' || Math.abs(number) < 2 ** 31 ? number : null
}

function parseMap({ type }: Kind, value: unknown): unknown {
  if (type !== 'map' || value === null || Array.isArray(value)) return null
  const entries = Object.entries(value as Record<string, unknown>)
  return entries.every(([, item]) => typeof item === 'string') ? Object.fromEntries(entries) : null
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

export function malformed(why: string): HearthError {
  return new HearthError('invalid_request', `the message ${why}`)
}
