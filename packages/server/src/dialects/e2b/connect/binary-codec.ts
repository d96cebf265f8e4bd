import { BinaryReader } from './binary-reader.ts'
import { defaultOf, fieldsOf, isDefault, type Field, type Kind } from './fields.ts'
import { malformed } from './json-codec.ts'
import type { Draft, Message, MessageName } from './messages.ts'

/** Messages in the wire format of protocol buffers. */
export function toBinary<Name extends MessageName>(name: Name, message: Draft<Name>): Buffer {
  return encode(name, message as Record<string, unknown>)
}

export function fromBinary<Name extends MessageName>(name: Name, bytes: Uint8Array): Message<Name> {
  return decode(name, bytes) as Message<Name>
}

function encode(name: MessageName, message: Record<string, unknown>): Buffer {
  const parts: Buffer[] = []
  for (const field of fieldsOf(name)) {
    const value = message[field.name]
    if (isDefault(field, value)) continue
    if (field.kind.type === 'map') {
      for (const [key, item] of Object.entries(value as Record<string, string>)) {
        const pair = Buffer.concat([delimited(1, Buffer.from(key)), delimited(2, Buffer.from(item))])
        parts.push(delimited(field.number, pair))
      }
    } else {
      for (const item of field.repeated ? (value as readonly unknown[]) : [value]) parts.push(encodeField(field, item))
    }
  }
  return Buffer.concat(parts)
}

function encodeField({ number, kind }: Field, value: unknown): Buffer {
  switch (kind.type) {
    case 'message':
      return delimited(number, encode(kind.message, value as Record<string, unknown>))
    case 'string':
      return delimited(number, Buffer.from(value as string))
    case 'bytes':
      return delimited(number, value as Uint8Array)
    case 'Timestamp':
      return delimited(number, timestamp(value as Date))
    case 'enumeration':
      return numeric(number, BigInt(kind.numbers.get(value as string) ?? 0))
    case 'sint32':
      return numeric(number, BigInt.asUintN(32, (BigInt(value as number) << 1n) ^ (BigInt(value as number) >> 31n)))
    default:
      return numeric(number, BigInt.asUintN(64, BigInt(value as number | boolean)))
  }
}

function timestamp(date: Date): Buffer {
  const milliseconds = date.getTime()
  const seconds = Math.floor(milliseconds / 1000)
  const nanoseconds = (milliseconds - seconds * 1000) * 1e6
  return Buffer.concat([numeric(1, BigInt.asUintN(64, BigInt(seconds))), numeric(2, BigInt(nanoseconds))])
}

function numeric(number: number, value: bigint): Buffer {
  return Buffer.concat([varint(BigInt(number * 8)), varint(value)])
}

function delimited(number: number, bytes: Uint8Array): Buffer {
  return Buffer.concat([varint(BigInt(number * 8 + 2)), varint(BigInt(bytes.length)), bytes])
}

function varint(value: bigint): Buffer {
  const bytes: number[] = []
  let rest = value
  for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80)
  bytes.push(Number(rest))
  return Buffer.from(bytes)
}

function decode(name: MessageName, bytes: Uint8Array): Record<string, unknown> {
  const fields = fieldsOf(name)
  const message: Record<string, unknown> = {}
  for (const field of fields) message[field.name] = defaultOf(field)
  const reader = new BinaryReader(bytes)
  while (!reader.done) {
    const { number, wire } = reader.tag()
    const field = fields.find((known) => known.number === number)
    if (field === undefined) reader.skip(wire)
    else if (wire !== wireOf(field.kind)) throw malformed(`has a wrong kind of ${field.name}`)
    else if (field.kind.type === 'map') Object.assign(message[field.name] as object, decodePair(reader.bytes()))
    else if (field.repeated) (message[field.name] as unknown[]).push(decodeField(field, reader))
    else message[field.name] = decodeField(field, reader)
  }
  return message
}

function wireOf({ type }: Kind): number {
  return ['message', 'string', 'bytes', 'map', 'Timestamp'].includes(type) ? 2 : 0
}

function decodeField({ kind, name }: Field, reader: BinaryReader): unknown {
  switch (kind.type) {
    case 'message':
      return decode(kind.message, reader.bytes())
    case 'string':
      return reader.bytes().toString('utf8')
    case 'bytes':
      return new Uint8Array(reader.bytes())
    case 'bool':
      return reader.varint() !== 0n
    case 'uint32':
      return Number(BigInt.asUintN(32, reader.varint()))
    case 'sint32':
      return zigzag(reader.varint())
    case 'int64':
      return Number(BigInt.asIntN(64, reader.varint()))
    case 'enumeration':
      return kind.names[Number(reader.varint())] ?? kind.names[0]
    default:
      throw malformed(`cannot have ${name}`)
  }
}

function zigzag(value: bigint): number {
  return Number(BigInt.asIntN(32, (value >> 1n) ^ -(value & 1n)))
}

function decodePair(bytes: Uint8Array): Record<string, string> {
  const reader = new BinaryReader(bytes)
  let key = ''
  let value = ''
  while (!reader.done) {
    const { number, wire } = reader.tag()
    if (number === 1 && wire === 2) key = reader.bytes().toString('utf8')
    else if (number === 2 && wire === 2) value = reader.bytes().toString('utf8')
    else reader.skip(wire)
  }
  return Object.fromEntries([[key, value]])
}
