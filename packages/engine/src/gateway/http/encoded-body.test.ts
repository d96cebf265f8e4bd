import { PassThrough, Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { PlaceholderWatch } from '../secrets/placeholder-watch.ts'
import { Decoded } from './content-coding.ts'
import { lookInto } from './encoded-body.ts'
import { pump, readWhole } from './pump.ts'

const PLACEHOLDER = 'ghp_Zk3vQ9mT1xR7cL5bN8wY2pH6dF4sJ0aG'

/** It fails as soon as it is looked into, long before anybody has asked for it. */
async function failedBody(): Promise<Readable> {
  const watch = new PlaceholderWatch([{ name: 'TOKEN', placeholder: PLACEHOLDER }])
  const body = lookInto(Readable.from([gzipSync(PLACEHOLDER)]), ['gzip'], watch)
  body.resume()
  while (!body.destroyed) await sleep(1)
  return body
}

test('a body that fails before it is read fails for who reads it, with the reason, and for nobody else', async () => {
  const reason = { context: { refusal: 'placeholder_misplaced' } }
  await expect(pump(await failedBody(), new PassThrough(), null)).rejects.toMatchObject(reason)
  await expect(readWhole(await failedBody(), 1000, { claim: () => undefined, idleMs: 1000 })).rejects.toMatchObject(
    reason,
  )
})

test('an answer that turns out to be broken after nobody reads it any more ends nothing', async () => {
  const decoded = new Decoded('gzip')
  decoded.write('this is not packed')
  while (!decoded.destroyed) await sleep(1)
  expect(decoded.errored).toBeInstanceOf(Error)
})
