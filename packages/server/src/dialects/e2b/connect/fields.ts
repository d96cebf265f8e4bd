import { ENUMERATIONS, MESSAGES, type EnumerationName, type MessageName } from './messages.ts'

export const SCALARS = ['string', 'bool', 'uint32', 'sint32', 'int64', 'bytes', 'map', 'Timestamp'] as const

export type Kind =
  | { readonly type: (typeof SCALARS)[number] }
  | { readonly type: 'message'; readonly message: MessageName }
  | { readonly type: 'enumeration'; readonly numbers: ReadonlyMap<string, number>; readonly names: readonly string[] }

export interface Field {
  readonly number: number
  readonly name: string
  readonly repeated: boolean
  /** Sent also when it has its default. */
  readonly optional: boolean
  readonly kind: Kind
}

const FIELDS: ReadonlyMap<MessageName, readonly Field[]> = new Map(
  (Object.keys(MESSAGES) as MessageName[]).map((name) => [
    name,
    Object.entries<string>(MESSAGES[name]).map(([field, text]) => parseField(field, text)),
  ]),
)

export function fieldsOf(message: MessageName): readonly Field[] {
  return FIELDS.get(message) ?? []
}

/** The value of a field that was not sent. */
export function defaultOf({ kind, repeated, optional }: Field): unknown {
  if (repeated) return []
  if (optional) return undefined
  if (kind.type === 'map') return {}
  if (kind.type === 'string') return ''
  if (kind.type === 'bool') return false
  if (kind.type === 'bytes') return new Uint8Array()
  if (kind.type === 'enumeration') return kind.names[0]
  return kind.type === 'message' || kind.type === 'Timestamp' ? undefined : 0
}

/** Whether proto3 leaves the value out. */
export function isDefault(field: Field, value: unknown): boolean {
  if (value === undefined || value === null) return true
  if (field.repeated) return (value as readonly unknown[]).length === 0
  if (field.optional) return false
  if (field.kind.type === 'map') return Object.keys(value).length === 0
  if (field.kind.type === 'bytes') return (value as Uint8Array).length === 0
  return value === defaultOf(field)
}

function parseField(name: string, text: string): Field {
  const [number = '', ...rest] = text.split(' ')
  const kind = rest.at(-1) ?? ''
  const label = rest.length === 2 ? rest[0] : null
  return {
    number: Number(number),
    name,
    repeated: label === 'repeated',
    optional: label === 'optional',
    kind: parseKind(kind),
  }
}

function parseKind(kind: string): Kind {
  const scalar = SCALARS.find((name) => name === kind)
  if (scalar !== undefined) return { type: scalar }
  if (kind in MESSAGES) return { type: 'message', message: kind as MessageName }
  const numbers = Object.entries<number>(ENUMERATIONS[kind as EnumerationName])
  const names: string[] = []
  for (const [name, number] of numbers) names[number] = name
  return { type: 'enumeration', numbers: new Map(numbers), names }
}
