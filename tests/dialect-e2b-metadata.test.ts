import type { Sandbox } from 'e2b'
import { afterAll, expect, test } from 'vitest'
import { E2bRaw } from './support/e2b-raw.ts'

/** What E2B's clients say about files. */

const raw = await E2bRaw.start()
const { sandbox } = raw
const { files } = sandbox
afterAll(() => raw[Symbol.asyncDispose]())

async function metadataOf(path: string): Promise<Record<string, string>> {
  return (await files.getInfo(path)).metadata ?? {}
}

test('metadata is told with the file, in each way to write and to look', async () => {
  const metadata = { author: 'me', 'a.b': 'two words', empty: '' }
  for (const options of [{}, { gzip: true }, { useOctetStream: true }]) {
    const written = await files.write('/tmp/m/one', 'x', { metadata, ...options })
    expect(written.metadata).toEqual(metadata)
    expect(await metadataOf('/tmp/m/one')).toEqual(metadata)
  }
  const several = await files.write(
    [
      { path: '/tmp/m/two', data: '2' },
      { path: '/tmp/m/three', data: '3' },
    ],
    { metadata: { k: 'v' } },
  )
  expect(several.map((each) => each.metadata)).toEqual([{ k: 'v' }, { k: 'v' }])
  const listed = await files.list('/tmp/m')
  expect(Object.fromEntries(listed.map((each) => [each.name, each.metadata]))).toEqual({
    one: metadata,
    two: { k: 'v' },
    three: { k: 'v' },
  })
})

test('metadata goes along with its file, and with what is written over it', async () => {
  await files.write('/tmp/g/a', 'a', { metadata: { k: 'a' } })
  await files.rename('/tmp/g', '/tmp/h')
  expect(await metadataOf('/tmp/h/a')).toEqual({ k: 'a' })
  await files.write('/tmp/h/a', 'a', { metadata: { other: 'b' } })
  expect(await metadataOf('/tmp/h/a')).toEqual({ other: 'b' })
  const fork = (await sandbox.fork({ timeoutMs: 60_000 }))[0] as Sandbox
  expect((await fork.files.getInfo('/tmp/h/a')).metadata).toEqual({ other: 'b' })
  await fork.kill()
  await sandbox.commands.run('echo longer > /tmp/h/a')
  expect(await metadataOf('/tmp/h/a')).toEqual({})
  await files.write('/tmp/h/a', 'a', { metadata: { k: 'a' } })
  await files.write('/tmp/h/a', 'a')
  expect(await metadataOf('/tmp/h/a')).toEqual({})
  await files.write('/tmp/h/a', 'a', { metadata: { k: 'a' } })
  await files.remove('/tmp/h')
  await sandbox.commands.run('mkdir /tmp/h; echo -n a > /tmp/h/a')
  expect(await metadataOf('/tmp/h/a')).toEqual({})
})

test('metadata has bounds', async () => {
  const upload = async (metadata: Record<string, string>): Promise<number> => {
    const headers = Object.fromEntries(Object.entries(metadata).map(([key, value]) => [`x-metadata-${key}`, value]))
    const type = { 'content-type': 'application/octet-stream' }
    return (await raw.envd({ path: '/files?path=/tmp/b', headers: { ...type, ...headers }, body: ['x'] })).status
  }
  expect(await upload({ ['k'.repeat(246)]: 'v' })).toBe(200)
  expect(await upload({ ['k'.repeat(247)]: 'v' })).toBe(400)
  expect(await upload({ k: 'v'.repeat(4095) })).toBe(200)
  expect(await upload({ k: 'v'.repeat(4096) })).toBe(400)
  expect(await upload({ '': 'v' })).toBe(400)
  expect(await upload({ k: 'ä' })).toBe(400)
})
