// For tests: any message that the tables allow.
import fc from 'fast-check'
import { DECODERS, type MessageName } from './messages.gen.ts'
import { PayloadReader } from './wire.ts'

const unsigned = (bits: number): fc.Arbitrary<number> => fc.integer({ min: 0, max: 2 ** bits - 1 })
const FIELDS = {
  u8: unsigned(8),
  u16: unsigned(16),
  u32: unsigned(32),
  i32: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
  u64: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  bytes: fc.uint8Array({ maxLength: 40 }),
  rest: fc.uint8Array({ maxLength: 40 }),
  string: fc.string({ unit: 'grapheme', maxLength: 20 }),
  strings: fc.array(fc.string({ unit: 'grapheme', maxLength: 10 }), { maxLength: 5 }),
}

/** The fields of a message in order, found out by decoding with a reader that only takes notes. */
export function fieldsOf(name: MessageName): fc.Arbitrary<Record<string, unknown>> {
  const kinds: (keyof typeof FIELDS)[] = []
  const reader = new Proxy(new PayloadReader(Buffer.alloc(0)), {
    get: (_target, kind) => () => kinds.push(kind as keyof typeof FIELDS),
  })
  const names = Object.keys(DECODERS[name](reader))
  return fc.record(Object.fromEntries(names.map((field, index) => [field, FIELDS[kinds[index] ?? 'u8']])))
}
