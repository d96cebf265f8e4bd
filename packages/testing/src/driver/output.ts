import { expect } from 'vitest'
import {
  collectOutput,
  eventually,
  joined,
  output,
  readUntil,
  scratch,
  sha256,
  sleep,
} from '../support/expectations.ts'
import type { Suite } from '../support/suite.ts'

const MiB = 1024 * 1024

export function describeOutput(suite: Suite): void {
  suite.test('the two streams are kept apart', {}, async (sandbox) => {
    const result = await sandbox.exec('echo a; echo b >&2; echo c; echo d >&2')
    expect(result).toMatchObject({ stdout: 'a\nc\n', stderr: 'b\nd\n' })
    expect(result.output).toHaveLength(8)
  })

  suite.test('arrival order of the two streams', { needs: ['processes'] }, async (sandbox) => {
    const steps = [1, 2, 3, 4].map((step) => `echo out${step}; sleep 0.1; echo err${step} >&2; sleep 0.1`)
    const result = await sandbox.exec(steps.join('; '))
    expect(result.output).toBe('out1\nerr1\nout2\nerr2\nout3\nerr3\nout4\nerr4\n')
  })

  suite.test('merged output has the exact order', {}, async (sandbox) => {
    const result = await sandbox.exec('for i in 1 2 3 4 5 6 7 8 9; do echo out$i; echo err$i >&2; done', {
      mergeOutput: true,
    })
    const expected = Array.from({ length: 9 }, (_, index) => `out${index + 1}\nerr${index + 1}\n`).join('')
    expect(result).toMatchObject({ stdout: expected, stderr: '', output: expected })
  })

  suite.test('unicode', {}, async (sandbox) => {
    const sample = 'héllo ✓ 🔥 日本語 \u{1F469}\u200D\u{1F4BB} ñ'
    const result = await sandbox.exec(['printf', '%s', sample])
    expect(result.stdout).toBe(sample)
    expect(result.totalOutputBytes).toBe(Buffer.byteLength(sample))
  })

  suite.test('a character whose bytes arrive one by one', { needs: ['processes'] }, async (sandbox) => {
    const result = await sandbox.exec("printf '\\360'; sleep 0.1; printf '\\237\\224'; sleep 0.1; printf '\\245'")
    expect(result).toMatchObject({ stdout: '🔥', output: '🔥' })
  })

  suite.test('every byte value', { needs: ['processes'] }, async (sandbox) => {
    const octal = Array.from({ length: 256 }, (_, byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('')
    const result = await sandbox.exec(['printf', octal])
    expect(Buffer.from(result.stdoutBytes)).toEqual(Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)))
  })

  suite.test('more output than is wanted is counted, the first part kept', {}, async (sandbox) => {
    const result = await sandbox.exec('seq 1 10000', { maxOutputBytes: 1000 })
    expect(result).toMatchObject({ truncated: true, totalOutputBytes: 48_894, exitCode: 0 })
    expect(result.stdoutBytes).toHaveLength(1000)
    expect(result.stdout.startsWith('1\n2\n3\n')).toBe(true)
    const nothing = await sandbox.exec('echo hidden', { maxOutputBytes: 0 })
    expect(nothing).toMatchObject({ stdout: '', truncated: true, totalOutputBytes: 7 })
    const exact = await sandbox.exec('echo exact', { maxOutputBytes: 6 })
    expect(exact).toMatchObject({ stdout: 'exact\n', truncated: false })
  })

  suite.test('five megabytes arrive whole', { needs: ['processes'] }, async (sandbox) => {
    const result = await sandbox.exec("head -c 5000000 /dev/zero | tr '\\0' x")
    expect(result.stdoutBytes).toHaveLength(5_000_000)
    expect(sha256(result.stdoutBytes)).toBe(sha256(Buffer.alloc(5_000_000, 'x')))
  })

  suite.test(
    'chunks arrive while the command runs, with offsets without gaps',
    { needs: ['processes'] },
    async (sandbox) => {
      const path = scratch('go')
      await using process = await sandbox.spawn(
        `echo first; while [ ! -e ${path} ]; do sleep 0.02; done; echo second >&2`,
      )
      const iterator = process.output[Symbol.asyncIterator]()
      expect(await readUntil(iterator, '\n')).toBe('first\n')
      await sandbox.files.write(path, '')
      const next = await iterator.next()
      expect(next.value).toMatchObject({ stream: 'stderr', offset: 6, dropped: 0 })
      expect((await iterator.next()).done).toBe(true)
      expect(await process.wait()).toMatchObject({ exitCode: 0 })
    },
  )

  suite.test('each chunk says its stream and position', {}, async (sandbox) => {
    await using process = await sandbox.spawn('echo one; echo two >&2')
    const chunks = await collectOutput(process)
    expect(joined(chunks.filter((chunk) => chunk.stream === 'stdout'))).toBe('one\n')
    expect(joined(chunks.filter((chunk) => chunk.stream === 'stderr'))).toBe('two\n')
    let position = 0
    for (const chunk of chunks) {
      expect(chunk).toMatchObject({ offset: position, dropped: 0 })
      position += chunk.data.length
    }
    expect(position).toBe(8)
  })

  suite.test(
    'a command whose output is not read waits, and loses nothing',
    { needs: ['processes'], timeoutMs: 60_000 },
    async (sandbox) => {
      const done = scratch('done')
      await using process = await sandbox.spawn(`head -c ${20 * MiB} /dev/zero; touch ${done}`)
      await sleep(500)
      expect(await sandbox.files.exists(done)).toBe(false)
      let bytes = 0
      for await (const chunk of process.output) bytes += chunk.data.length
      expect(bytes).toBe(20 * MiB)
      expect(await process.wait()).toMatchObject({ exitCode: 0 })
      await eventually('it has ended', async () => await sandbox.files.exists(done))
    },
  )

  suite.test('a handle that is not read does not hold up other commands', { needs: ['processes'] }, async (sandbox) => {
    await using flood = await sandbox.spawn('yes')
    await sleep(200)
    expect(await output(sandbox, 'echo free')).toBe('free')
    await flood.kill()
  })
}
