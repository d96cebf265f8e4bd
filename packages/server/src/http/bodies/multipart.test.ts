import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { multipartBoundary, readParts } from './multipart.ts'

async function parse(body: Uint8Array, boundary: string, cuts: readonly number[]): Promise<[string, string][]> {
  async function* pieces(): AsyncGenerator<Uint8Array> {
    let start = 0
    for (const cut of cuts.map((part) => part % (body.length + 1)).toSorted((left, right) => left - right)) {
      yield body.subarray(start, cut)
      start = Math.max(start, cut)
    }
    yield body.subarray(start)
  }
  const parts: [string, string][] = []
  for await (const { name, content } of readParts(pieces(), boundary)) {
    const chunks: Uint8Array[] = []
    for await (const chunk of content) chunks.push(chunk)
    parts.push([name, Buffer.concat(chunks).toString('latin1')])
  }
  return parts
}

/** Bytes that look like the delimiters of the body, so that the search for them is tested. */
const trickyText = fc
  .array(fc.constantFrom('\r', '\n', '\r\n', '-', '--', '--X', '\r\n--', '\r\n--XBOUND', 'x', '\0'), { maxLength: 40 })
  .map((parts) => parts.join(''))
  .filter((text) => !`\r\n${text}`.includes('\r\n--XBOUNDARY'))

describe('multipart bodies', () => {
  it('is read the same however it is cut', async () => {
    const field = fc.tuple(fc.stringMatching(/^\/[\w ;=.-]{1,20}$/), trickyText)
    await fc.assert(
      fc.asyncProperty(
        fc.array(field, { maxLength: 4 }),
        fc.array(fc.nat(), { maxLength: 12 }),
        async (fields, cuts) => {
          const written = fields.map(
            ([name, text]) => `--XBOUNDARY\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${text}\r\n`,
          )
          const body = Buffer.from(`${written.join('')}--XBOUNDARY--\r\n`, 'latin1')
          expect(await parse(body, 'XBOUNDARY', cuts)).toEqual(fields)
        },
      ),
      { numRuns: 150 },
    )
  })

  it('reads what fetch writes', async () => {
    const form = new FormData()
    form.append('/a "b"\nc', new Blob([Buffer.from([0, 255, 13, 10])]))
    const request = new Request('http://localhost', { method: 'POST', body: form })
    const boundary = multipartBoundary(request.headers.get('content-type') ?? '')
    const parts = await parse(new Uint8Array(await request.arrayBuffer()), boundary, [3, 50])
    expect(parts).toEqual([['/a "b"\r\nc', '\0\xff\r\n']])
  })

  it('skips parts that nobody read', async () => {
    const body = Buffer.from(
      '--b\r\ncontent-disposition: form-data; name="x"\r\n\r\n1\r\n--b\r\ncontent-disposition: form-data; name="y"\r\n\r\n2\r\n--b--',
    )
    const names: string[] = []
    for await (const { name } of readParts(ReadableStream.from([body]), 'b')) names.push(name)
    expect(names).toEqual(['x', 'y'])
  })

  it('refuses anything else without an end', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (bytes) => {
        await parse(bytes, 'b', [10]).catch((error: unknown) =>
          expect(error).toMatchObject({ code: 'invalid_request' }),
        )
      }),
      { numRuns: 100 },
    )
    for (const header of [
      undefined,
      '',
      'multipart/form-data',
      'multipart/form-data; boundary=',
      'text/plain; boundary=x',
      `multipart/form-data; boundary=${'x'.repeat(100)}`,
    ]) {
      expect(() => multipartBoundary(header)).toThrow('multipart/form-data')
    }
    expect(multipartBoundary('Multipart/Form-Data; charset=utf-8; boundary="a b"')).toBe('a b')
  })
})
