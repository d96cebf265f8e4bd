import { PassThrough, Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { pump, type Filter } from '../http/pump.ts'
import { SearchTime } from './search-time.ts'

const SEARCH_MS = 10
const CHUNKS = 10

function busy(milliseconds: number): void {
  for (const until = performance.now() + milliseconds; performance.now() < until;);
}

function slowFilter(time: SearchTime): Filter {
  return {
    write: (chunk) =>
      time.during(chunk.length, () => {
        busy(SEARCH_MS)
        return chunk
      }),
    end: () => Buffer.from('.'),
  }
}

const numbered = (): Buffer[] => Array.from({ length: CHUNKS }, (_, index) => Buffer.from(String(index)))

async function pumped(source: Readable, filter: Filter, time: SearchTime): Promise<string> {
  const sink = new PassThrough()
  const text = sink.toArray()
  expect(await pump(source, sink, filter, time)).toBe('ended')
  sink.end()
  return (await text).join('')
}

test('a search of ordinary speed makes nobody wait', () => {
  const time = new SearchTime()
  time.during(1024 * 1024, () => busy(SEARCH_MS))
  expect(time.waitMs).toBe(0)
  time.during(1024, () => busy(SEARCH_MS))
  expect(time.waitMs).toBeGreaterThan(SEARCH_MS / 2)
})

test('what is searched slowly takes half of the time, over all that passes, and comes whole and in order', async () => {
  const time = new SearchTime()
  const started = performance.now()
  const texts = await Promise.all(
    [1, 2, 3].map(async () => await pumped(Readable.from(numbered()), slowFilter(time), time)),
  )
  expect(texts).toEqual(Array.from({ length: 3 }, () => '0123456789.'))
  // All searches but the last are waited for once more.
  expect(performance.now() - started).toBeGreaterThan((2 * 3 * CHUNKS - 1) * SEARCH_MS * 0.95)
})

test('a source that ends while its last part waits, and one that breaks off', async () => {
  const time = new SearchTime()
  time.during(1, () => busy(SEARCH_MS))
  const ends = new PassThrough()
  ends.end('all')
  expect(await pumped(ends, slowFilter(time), time)).toBe('all.')
  const breaks = new PassThrough()
  breaks.write('not all')
  const broken = pump(breaks, new PassThrough(), slowFilter(time), time)
  setImmediate(() => breaks.destroy())
  await expect(broken).rejects.toThrow('the body broke off')
})
