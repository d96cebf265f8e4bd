import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export type FieldType = 'u8' | 'u16' | 'u32' | 'u64' | 'i32' | 'string' | 'bytes' | 'strings' | 'rest'

export interface Message {
  readonly name: string
  readonly type: number
  readonly from: 'host' | 'guest' | 'both'
  readonly fields: readonly (readonly [name: string, type: FieldType])[]
  readonly doc: string
}

export interface Table {
  readonly version: number
  readonly messages: readonly Message[]
}

export function loadTable(): Table {
  const table = JSON.parse(readFileSync(join(import.meta.dirname, 'messages.json'), 'utf8')) as Table
  const types = new Set(table.messages.map((message) => message.type))
  if (types.size !== table.messages.length) throw new Error('messages.json: a type number is used twice')
  for (const message of table.messages) {
    const rest = message.fields.findIndex(([, type]) => type === 'rest')
    if (rest !== -1 && rest !== message.fields.length - 1)
      throw new Error(`${message.name}: rest must be the last field`)
  }
  return table
}

/** `bootNanoseconds` becomes `boot_nanoseconds`, `KeeperEnd` becomes `keeper_end`. */
export function snakeCase(name: string): string {
  return name.replaceAll(/(?<!^)([A-Z])/g, '_$1').toLowerCase()
}
