import { PassThrough, Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { PlaceholderWatch } from '../secrets/placeholder-watch.ts'
import { SearchTime } from '../secrets/search-time.ts'
import { Decoded } from './content-coding.ts'
import { lookInto } from './encoded-body.ts'
import { pump, readWhole } from './pump.ts'

const PLACEHOLDER = 'ghp_Zk3vQ9mT1xR7cL5bN8wY2pH6dF4sJ0aG'

/** It fails as soon as it is looked into, long before anybody has asked for it. */
async function failedBody(): Promise<Readable> {
  const time = new SearchTime()
  const watch = new PlaceholderWatch([{ name: 'TOKEN', placeholder: PLACEHOLDER }], time)
  const body = lookInto(Readable.from([gzipSync(PLACEHOLDER)]), ['gzip'], { watch, time }, () => undefined)
  body.resume()
  while (!body.destroyed) await sleep(1)
  return body
}

test('a body that fails before it is read fails for who reads it, with the reason, and for nobody else', async () => {
  const reason = { context: { refusal: 'placeholder_misplaced' } }
  await expect(pump(await failedBody(), new PassThrough(), null, new SearchTime())).rejects.toMatchObject(reason)
  await expect(readWhole(await failedBody(), 1000, { claim: () => undefined, idleMs: 1000 })).rejects.toMatchObject(
    reason,
  )
})

test('an answer that turns out to be broken after nobody reads it any more ends nothing', async () => {
  const decoded = new Decoded('gzip', () => undefined)
  decoded.write('this is not packed')
  while (!decoded.destroyed) await sleep(1)
  expect(decoded.errored).toBeInstanceOf(Error)
})

const PACKINGS = {
  gzip: gzipSync,
  br: brotliCompressSync,
  zstd: zstdCompressSync,
  deflate: deflateSync,
  'raw deflate': deflateRawSync,
} as const

/** What comes out, or that it fails. It must do one of them. */
async function unpacked(packing: keyof typeof PACKINGS, ...parts: readonly Buffer[]): Promise<string> {
  const decoded = Readable.from(parts).pipe(new Decoded(packing.replace('raw ', ''), () => undefined))
  const text = decoded.toArray().then(
    (some: Buffer[]) => Buffer.concat(some).toString(),
    () => 'fails',
  )
  return await Promise.race([text, sleep(5000, 'hangs')])
}

describe.each(Object.keys(PACKINGS) as (keyof typeof PACKINGS)[])('%s, and something behind its end', (packing) => {
  const pack = PACKINGS[packing]
  const both = Buffer.concat([pack('one, '), pack('two')])
  const ways: readonly (readonly [how: string, parts: (bytes: Buffer) => readonly Buffer[]])[] = [
    ['at once', (bytes) => [bytes]],
    ['cut at the end', (bytes) => [bytes.subarray(0, pack('one, ').length), bytes.subarray(pack('one, ').length)]],
    ['byte by byte', (bytes) => Array.from(bytes, (byte) => Buffer.of(byte))],
  ]
  const isMany = packing === 'gzip' || packing === 'zstd'

  test.each(ways)('the same again, %s', async (_how, parts) => {
    expect(await unpacked(packing, ...parts(both))).toBe(isMany ? 'one, two' : 'fails')
  })

  test.each(ways)('plain text, %s', async (_how, parts) => {
    const text = await unpacked(packing, ...parts(Buffer.concat([pack('one, '), Buffer.from(PLACEHOLDER)])))
    expect(text).toMatch(packing === 'gzip' ? /^(one, |fails)$/ : /^fails$/)
  })

  test('a long one comes whole', async () => {
    const text = 'a long one '.repeat(100_000)
    expect((await unpacked(packing, pack(text))) === text).toBe(true)
  })
})
