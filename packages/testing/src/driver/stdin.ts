import { randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import { HearthError } from '@hearth/contract'
import { collectOutput, joined, endOf, readUntil, sha256 } from '../support/expectations.ts'
import type { Suite } from '../support/suite.ts'

export function describeStdin(suite: Suite): void {
  suite.test('input is read and ended', {}, async (sandbox) => {
    const result = await sandbox.exec('cat', { input: 'line one\nline ✓ two' })
    expect(result.stdout).toBe('line one\nline ✓ two')
  })

  suite.test('without input there is end-of-file at once', {}, async (sandbox) => {
    expect(await sandbox.exec('cat; echo after')).toMatchObject({ stdout: 'after\n', exitCode: 0 })
  })

  suite.test('input of every byte value comes back', { needs: ['processes'] }, async (sandbox) => {
    const input = Buffer.from(Array.from({ length: 1024 }, (_, index) => index & 255))
    const result = await sandbox.exec(['cat'], { input })
    expect(Buffer.from(result.stdoutBytes)).toEqual(input)
  })

  suite.test('five megabytes of input arrive whole', { needs: ['processes'] }, async (sandbox) => {
    const input = randomBytes(5_000_000)
    const result = await sandbox.exec('sha256sum', { input })
    expect(result.stdout).toContain(sha256(input))
  })

  suite.test('a command that does not read its input', { needs: ['processes'] }, async (sandbox) => {
    const result = await sandbox.exec('echo done', { input: Buffer.alloc(2_000_000) })
    expect(result).toMatchObject({ stdout: 'done\n', exitCode: 0 })
  })

  suite.test('a conversation over a pipe', { needs: ['processes'] }, async (sandbox) => {
    await using process = await sandbox.spawn('while read line; do echo "got $line"; done; echo bye', { stdin: 'pipe' })
    const iterator = process.output[Symbol.asyncIterator]()
    await process.write('one\n')
    expect(await readUntil(iterator, '\n')).toBe('got one\n')
    await process.write(Buffer.from('two\n'))
    expect(await readUntil(iterator, '\n')).toBe('got two\n')
    await process.closeStdin()
    expect(await readUntil(iterator, '\n')).toBe('bye\n')
    expect(await endOf(process, iterator)).toMatchObject({ exitCode: 0 })
  })

  suite.test('many small writes keep their order', { needs: ['processes'] }, async (sandbox) => {
    await using process = await sandbox.spawn('cat', { stdin: 'pipe' })
    const reading = collectOutput(process)
    const lines = Array.from({ length: 500 }, (_, index) => `${index}\n`)
    await Promise.all(lines.map(async (line) => await process.write(line)))
    await process.closeStdin()
    expect(joined(await reading)).toBe(lines.join(''))
  })

  suite.test('writing to a process that has ended is refused', { needs: ['processes'] }, async (sandbox) => {
    await using process = await sandbox.spawn('exit 3', { stdin: 'pipe' })
    expect(await process.wait()).toMatchObject({ exitCode: 3 })
    const outcome = await process.write('late').then(
      () => null,
      (error: unknown) => error,
    )
    expect(HearthError.isInstance(outcome)).toBe(true)
  })
}
