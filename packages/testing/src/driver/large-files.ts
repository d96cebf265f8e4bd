import { createHash, randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import { expectRefusal, output, scratch, sleep } from '../support/expectations.ts'
import type { Suite } from '../support/suite.ts'

const MiB = 1024 * 1024
const SIZE = 100 * MiB
const STEP = 256 * 1024

/** Bytes without a pattern, made from one block so that making them costs little. */
async function* blocks(hash: { update(data: Uint8Array): unknown }): AsyncGenerator<Uint8Array> {
  const block = randomBytes(MiB)
  for (let index = 0; index < SIZE / MiB; index++) {
    block.writeUInt32LE(index, 0)
    hash.update(block)
    yield Buffer.from(block)
  }
}

export function describeLargeFiles(suite: Suite): void {
  suite.test('100 MB in and out, with checksums', { timeoutMs: 120_000 }, async (sandbox) => {
    const path = scratch('large')
    const sent = createHash('sha256')
    const info = await sandbox.files.write(path, blocks(sent))
    expect(info.size).toBe(SIZE)
    const expected = sent.digest('hex')
    const received = createHash('sha256')
    for await (const chunk of sandbox.files.readStream(path)) received.update(chunk)
    expect(received.digest('hex')).toBe(expected)
    if (suite.options.capabilities.processes) expect(await output(sandbox, ['sha256sum', path])).toContain(expected)
    await sandbox.files.remove(path)
  })

  // Machines write large files in steps of their own: what is not a whole step, and more files at once than have room for one, must not show.
  suite.test('many at once, of sizes around the steps of writing', { timeoutMs: 60_000 }, async (sandbox) => {
    const directory = scratch('steps')
    const sizes = [MiB, MiB + STEP, MiB + 2 * STEP].flatMap((size) =>
      [-4097, -1, 0, 1, 4096].map((more) => size + more),
    )
    const files = sizes.map((size) => ({ path: `${directory}/${size}`, content: randomBytes(size) }))
    await Promise.all(files.map(({ path, content }) => sandbox.files.write(path, content)))
    for (const { path, content } of files) expect(content.equals(await sandbox.files.read(path))).toBe(true)
    if (suite.options.capabilities.processes) {
      const listed = await output(sandbox, `cd ${directory} && sha256sum *`)
      for (const { content } of files) expect(listed).toContain(createHash('sha256').update(content).digest('hex'))
    }
    await sandbox.files.remove(directory, { recursive: true })
  })

  suite.test(
    'a slow reader of a large file costs no memory',
    { needs: ['processes'], timeoutMs: 60_000 },
    async (sandbox) => {
      const path = scratch('slow')
      await output(sandbox, `head -c ${50 * MiB} /dev/zero > ${path}`)
      const before = process.memoryUsage().arrayBuffers
      let read = 0
      for await (const chunk of sandbox.files.readStream(path)) {
        if (read === 0) {
          await sleep(500)
          expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 * MiB)
        }
        read += chunk.length
      }
      expect(read).toBe(50 * MiB)
      await sandbox.files.remove(path)
    },
  )

  suite.test('a reader that stops early leaves the sandbox usable', { needs: ['processes'] }, async (sandbox) => {
    const path = scratch('early')
    await output(sandbox, `head -c ${20 * MiB} /dev/zero > ${path}`)
    for (let index = 0; index < 5; index++) {
      for await (const chunk of sandbox.files.readStream(path)) {
        expect(chunk.length).toBeGreaterThan(0)
        break
      }
    }
    expect(await output(sandbox, 'echo usable')).toBe('usable')
    await sandbox.files.remove(path)
  })

  suite.test('an upload that is given up leaves nothing', { needs: ['processes'] }, async (sandbox) => {
    const directory = scratch('given-up')
    await sandbox.files.write(`${directory}/file`, 'old')
    const controller = new AbortController()
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (let index = 0; ; index++) {
        if (index === 5) controller.abort()
        await sleep(5)
        yield Buffer.alloc(100_000)
      }
    }
    await expectRefusal(sandbox.files.write(`${directory}/file`, endless(), { signal: controller.signal }), 'aborted')
    expect(await sandbox.files.readText(`${directory}/file`)).toBe('old')
    await sleep(200)
    expect(await output(sandbox, ['ls', '-A', directory])).toBe('file')
  })

  suite.test('an upload whose source fails leaves nothing', {}, async (sandbox) => {
    const directory = scratch('failed')
    await sandbox.files.makeDirectory(directory)
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield Buffer.alloc(100_000)
      throw new Error('the source broke')
    }
    await expect(sandbox.files.write(`${directory}/file`, failing())).rejects.toThrow('the source broke')
    await sleep(200)
    expect(await sandbox.files.list(directory)).toEqual([])
  })
}
