import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodeFrame } from '../link/encode-frame.ts'
import { CommandRoots } from './command-roots.ts'
import { ProcessEventReader, type HeardEvent, type ProcessEvent } from './process-events.ts'
import { watchProcesses } from './process-watch.ts'

const began = encodeFrame('Missed', { count: 0 }, 0)
const executed = (pid: number, root: number, argv: readonly string[], flags = 0): Uint8Array =>
  encodeFrame('Executed', { pid, parent: 1, root, flags, argv }, 0)

function read(bytes: Uint8Array, size = bytes.length): HeardEvent[] {
  const reader = new ProcessEventReader()
  const events: HeardEvent[] = []
  for (let at = 0; at < bytes.length; at += size) events.push(...reader.push(bytes.subarray(at, at + size)))
  return events
}

describe('the stream of processes', () => {
  it('is read in whatever pieces it comes', () => {
    const ended = encodeFrame('Ended', { pid: 7, root: 5, code: 3, signal: 0, durationMicroseconds: 1500n }, 0)
    const bytes = Buffer.concat([began, executed(7, 5, ['sh', '-c', 'a\n\0b\u001b'], 1), ended])
    const whole = read(bytes)
    expect(whole).toEqual([
      { kind: 'missed', count: 0 },
      { kind: 'executed', pid: 7, parent: 1, root: 5, argv: ['sh', '-c', 'a\n\u{fffd}b\u{fffd}'], seen: 'cut' },
      { kind: 'ended', pid: 7, root: 5, exitCode: 3, signal: null, durationMs: 1.5 },
    ])
    for (const size of [1, 2, 13]) expect(read(bytes, size)).toEqual(whole)
  })

  it('ends with a typed error at what breaks a rule', () => {
    const broken = [
      executed(1, 1, ['x'.repeat(5000)]),
      executed(
        1,
        1,
        Array.from({ length: 300 }, () => ''),
      ),
      encodeFrame('Missed', { count: 1 }, 3),
      encodeFrame('Done', { value: 0n }, 0),
      encodeFrame('Ended', { pid: 1, root: 1, code: 900, signal: 0, durationMicroseconds: 0n }, 0),
      encodeFrame('Ended', { pid: 1, root: 1, code: 0, signal: 99, durationMicroseconds: 0n }, 0),
    ]
    for (const bytes of broken) expect(() => read(bytes)).toThrow(expect.objectContaining({ code: 'watch_failed' }))
    const any = fc.uint8Array({ maxLength: 400 })
    fc.assert(
      fc.property(any, (bytes) => {
        try {
          read(bytes, 7)
        } catch (error) {
          expect(error).toMatchObject({ code: 'watch_failed' })
        }
      }),
    )
  })
})

async function collect(watch: AsyncIterable<ProcessEvent>): Promise<ProcessEvent[]> {
  const events: ProcessEvent[] = []
  for await (const event of watch) events.push(event)
  return events
}

describe('a watch of processes', () => {
  it('waits for the number of a command, but not for ever', async () => {
    const roots = new CommandRoots()
    const gone = new AbortController()
    async function* chunks(): AsyncGenerator<Uint8Array> {
      yield began
      yield Buffer.concat([executed(11, 10, ['late']), executed(21, 20, ['strange']), executed(31, 0, ['nobody'])])
      gone.abort()
    }
    const watch = await watchProcesses(chunks(), roots, gone.signal)
    setTimeout(() => roots.note(10, 4), 50)
    const events = await collect(watch)
    expect(events.map((event) => (event.kind === 'executed' ? event.process : event))).toEqual([4, null, null])
  })

  it('that ends before its machine fails, and one that ends with it ends', async () => {
    async function* chunks(): AsyncGenerator<Uint8Array> {
      yield began
    }
    const there = await watchProcesses(chunks(), new CommandRoots(), new AbortController().signal)
    await expect(collect(there)).rejects.toMatchObject({ code: 'watch_failed' })
    const gone = new AbortController()
    const ending = await watchProcesses(chunks(), new CommandRoots(), gone.signal)
    setTimeout(() => gone.abort(), 50)
    expect(await collect(ending)).toEqual([])
  })

  it('that does not begin as it must is refused', async () => {
    async function* chunks(): AsyncGenerator<Uint8Array> {
      yield executed(1, 1, ['x'])
    }
    const watch = watchProcesses(chunks(), new CommandRoots(), new AbortController().signal)
    await expect(watch).rejects.toMatchObject({ code: 'watch_failed' })
  })
})
