import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { HearthError } from '../hearth-error.ts'
import { SseParser } from './sse-parser.ts'

function parse(...pieces: (string | Uint8Array)[]): string[] {
  const parser = new SseParser()
  return pieces.flatMap((piece) => parser.push(typeof piece === 'string' ? Buffer.from(piece) : piece))
}

describe('server-sent events', () => {
  test('data, comments and other fields', () => {
    expect(parse(': ping\n\ndata: one\n\nevent: x\nid: 7\ndata:two\nretry: 5\n\n')).toEqual(['one', 'two'])
    expect(parse('data: a\ndata: b\n\n')).toEqual(['a\nb'])
    expect(parse('data\n\n', 'data:  two spaces\n\n', 'database: no\n\n')).toEqual(['', ' two spaces'])
  })

  test('all three ends of a line, also when cut in two', () => {
    expect(parse('data: a\r\n\r\ndata: b\r\rdata: c\n\n')).toEqual(['a', 'b', 'c'])
    expect(parse('data: a\r', '\n\r', '\ndata: b\r', '\n\r\n')).toEqual(['a', 'b'])
  })

  test('what is not complete is no event', () => {
    expect(parse('data: a\n', '')).toEqual([])
    expect(parse('data: a')).toEqual([])
  })

  test('however the bytes are cut', () => {
    const line = fc.string({ unit: 'binary' }).map((text) => text.replace(/[\r\n\0]/g, '~'))
    const end = fc.constantFrom('\n', '\r\n', '\r')
    fc.assert(
      fc.property(fc.array(line, { minLength: 1 }), end, fc.array(fc.nat(30)), (texts, lineEnd, cuts) => {
        const stream = Buffer.from(texts.map((text) => `data: ${text}${lineEnd}${lineEnd}`).join('') + ': end\n')
        const pieces: Buffer[] = []
        let begin = 0
        for (const size of cuts) {
          pieces.push(stream.subarray(begin, begin + size))
          begin += size
        }
        pieces.push(stream.subarray(begin))
        const expected = texts.map((text) => Buffer.from(text).toString())
        expect(parse(...pieces)).toEqual(expected)
      }),
    )
  })

  test('an event without end is refused, whether in one line or in many', () => {
    const parser = new SseParser()
    const flood = (piece: Buffer): void => {
      for (let index = 0; index < 40; index++) parser.push(piece)
    }
    expect(() => flood(Buffer.alloc(1024 * 1024, 'x'))).toThrow(HearthError)
    const other = new SseParser()
    const lines = Buffer.from(`data: ${'x'.repeat(1024 * 1024)}\n`)
    expect(() => {
      for (let index = 0; index < 40; index++) other.push(lines)
    }).toThrow(HearthError)
  })
})
