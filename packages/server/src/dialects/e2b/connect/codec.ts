import { HearthError } from '@hearth/contract'
import { fromBinary, toBinary } from './binary-codec.ts'
import { fromJson, toJson } from './json-codec.ts'
import type { Draft, Message, MessageName } from './messages.ts'

/** One way to write messages. */
export interface Codec {
  readonly name: 'json' | 'proto'
  encode<Name extends MessageName>(name: Name, message: Draft<Name>): Buffer
  decode<Name extends MessageName>(name: Name, bytes: Buffer): Message<Name>
}

const JSON_CODEC: Codec = {
  name: 'json',
  encode: (name, message) => Buffer.from(toJson(name, message)),
  decode: (name, bytes) => fromJson(name, bytes.toString('utf8')),
}

const BINARY_CODEC: Codec = { name: 'proto', encode: toBinary, decode: fromBinary }

/** What the content type of a call says about it. */
export function codecOf(contentType: string | undefined, stream: boolean): Codec {
  const type = (contentType ?? '').split(';')[0]?.trim().toLowerCase()
  const prefix = stream ? 'application/connect+' : 'application/'
  if (type === `${prefix}json`) return JSON_CODEC
  if (type === `${prefix}proto`) return BINARY_CODEC
  throw new HearthError('unsupported_media_type', `the content type must be ${prefix}json or ${prefix}proto`)
}
