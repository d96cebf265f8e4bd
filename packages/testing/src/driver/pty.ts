import { expect } from 'vitest'
import { collectOutput, joined, endOf, readUntil } from '../support/expectations.ts'
import type { Suite } from '../support/suite.ts'

const TERMINAL = { needs: ['terminals'] } as const

export function describePty(suite: Suite): void {
  suite.test('a terminal with the size that was asked for', TERMINAL, async (sandbox) => {
    await using process = await sandbox.spawn('test -t 0 && test -t 1 && test -t 2 && echo terminal; stty size; tty', {
      pty: { rows: 33, cols: 111 },
    })
    const seen = joined(await collectOutput(process))
    expect(seen).toContain('terminal\r\n')
    expect(seen).toContain('33 111')
    expect(seen).toMatch(/\/dev\/(pts\/\d+|console|tty)/)
    expect(await process.wait()).toMatchObject({ exitCode: 0 })
  })

  suite.test('both streams are one', TERMINAL, async (sandbox) => {
    await using process = await sandbox.spawn('echo out; echo err >&2; echo out again', { pty: { rows: 24, cols: 80 } })
    const chunks = await collectOutput(process)
    expect(joined(chunks)).toBe('out\r\nerr\r\nout again\r\n')
    expect(chunks.every((chunk) => chunk.stream === 'stdout')).toBe(true)
  })

  suite.test('resize is seen and signalled', TERMINAL, async (sandbox) => {
    const script = "trap 'stty size; echo changed' WINCH; echo ready; while :; do sleep 0.05; done"
    await using process = await sandbox.spawn(script, { pty: { rows: 24, cols: 80 } })
    const iterator = process.output[Symbol.asyncIterator]()
    await readUntil(iterator, 'ready')
    await process.resize({ rows: 50, cols: 132 })
    expect(await readUntil(iterator, 'changed')).toContain('50 132')
    await process.kill()
  })

  suite.test('what is typed is echoed and read', TERMINAL, async (sandbox) => {
    await using process = await sandbox.spawn('read line; echo "got $line"', {
      pty: { rows: 24, cols: 80 },
      stdin: 'pipe',
    })
    const iterator = process.output[Symbol.asyncIterator]()
    await process.write('hello\r')
    expect(await readUntil(iterator, 'got hello')).toMatch(/^hello\r\n/)
    expect(await endOf(process, iterator)).toMatchObject({ exitCode: 0 })
  })

  suite.test('control-C interrupts what is in the foreground', TERMINAL, async (sandbox) => {
    await using process = await sandbox.spawn(['sh', '-i'], {
      pty: { rows: 24, cols: 80 },
      stdin: 'pipe',
      env: { PS1: 'prompt> ' },
    })
    const iterator = process.output[Symbol.asyncIterator]()
    await readUntil(iterator, 'prompt> ')
    // Said by what is interrupted, so that it is in the foreground by then.
    await process.write(`sh -c 'echo begin; exec sleep 100'\r`)
    await readUntil(iterator, /begin\r\n/)
    await process.write('\x03')
    await readUntil(iterator, 'prompt> ')
    // An empty line first: gVisor leaves the character in the line although it interrupts.
    await process.write('\r')
    await readUntil(iterator, 'prompt> ')
    await process.write('echo "still $((20 + 3))"\r')
    await readUntil(iterator, 'still 23')
    await process.write('exit 12\r')
    expect(await endOf(process, iterator)).toMatchObject({ exitCode: 12 })
  })

  suite.test('control-D is the end of the input', TERMINAL, async (sandbox) => {
    await using process = await sandbox.spawn('cat; echo ended', { pty: { rows: 24, cols: 80 }, stdin: 'pipe' })
    const iterator = process.output[Symbol.asyncIterator]()
    await process.write('text\r')
    await readUntil(iterator, 'text\r\ntext\r\n')
    await process.write('\x04')
    await readUntil(iterator, 'ended')
    expect(await endOf(process, iterator)).toMatchObject({ exitCode: 0 })
  })

  suite.test('a terminal is taken up again', TERMINAL, async (sandbox) => {
    const process = await sandbox.spawn('echo first; read line; echo "got $line"', {
      pty: { rows: 24, cols: 80 },
      stdin: 'pipe',
    })
    await readUntil(process.output[Symbol.asyncIterator](), 'first')
    await process.detach()
    await using again = await sandbox.attach(process.id)
    const iterator = again.output[Symbol.asyncIterator]()
    await readUntil(iterator, 'first')
    await again.write('hello\r')
    await readUntil(iterator, 'got hello')
    expect(await endOf(again, iterator)).toMatchObject({ exitCode: 0 })
  })
}
