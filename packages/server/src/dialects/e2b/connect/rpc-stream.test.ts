import type { ServerResponse } from 'node:http'
import { HearthError } from '@hearth/contract'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { CellLines } from '../interpreter/cell-lines.ts'
import { codecOf } from './codec.ts'
import { RpcStream } from './rpc-stream.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** An answer that remembers when something was written. */
function answer() {
  const began = Date.now()
  const written: { readonly at: number; readonly text: string }[] = []
  const write = (chunk: Uint8Array | string = ''): boolean => {
    written.push({ at: (Date.now() - began) / 1000, text: Buffer.from(chunk).toString() })
    return !outgoing.writableNeedDrain
  }
  const outgoing = { writableNeedDrain: false, destroyed: false, write, writeHead: () => outgoing, end: write }
  const times = (what: string): number[] => written.flatMap(({ at, text }) => (text.includes(what) ? [at] : []))
  return { outgoing, response: outgoing as unknown as ServerResponse, times }
}

const KEEPALIVE = { event: { keepalive: {} } } as const
const DATA = { event: { data: { stdout: Buffer.from('x') } } } as const

function stream(response: ServerResponse, pingInterval: string | undefined): RpcStream<'ProcessEvents'> {
  const form = { name: 'ProcessEvents', keepalive: KEEPALIVE, writeIdleMs: 1000, pingInterval } as const
  return new RpcStream(response, codecOf('application/connect+json', true), form)
}

describe('a stream of envd', () => {
  it('is never silent for longer than the client allows', async () => {
    const { response, times } = answer()
    const made = stream(response, '10')
    // Right after a tick would be.
    await vi.advanceTimersByTimeAsync(10_100)
    await made.send(DATA)
    await vi.advanceTimersByTimeAsync(25_000)
    expect(times('keepalive')).toEqual([10, 20.1, 30.1])
    made.end(null)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(times('keepalive')).toHaveLength(3)
  })

  it.each([undefined, '0', '91', 'x'])(
    'has a longest silence of its own, whatever is asked for: %s',
    async (wanted) => {
      const { response, times } = answer()
      const made = stream(response, wanted)
      await vi.advanceTimersByTimeAsync(181_000)
      expect(times('keepalive')).toEqual([90, 180])
      made.end(new HearthError('timeout', 'over'))
    },
  )

  it('says nothing while its reader takes nothing', async () => {
    const { outgoing, response, times } = answer()
    const made = stream(response, '10')
    outgoing.writableNeedDrain = true
    await vi.advanceTimersByTimeAsync(25_000)
    expect(times('keepalive')).toEqual([])
    made.end(null)
  })
})

describe('what a cell says', () => {
  it('is whole lines, but for what waits too long for its end', async () => {
    const { response, times } = answer()
    const lines = new CellLines(response, 1000)
    const print = (text: string, stream: 'stdout' | 'stderr' = 'stdout'): void =>
      lines.event({ type: 'output', stream, text })
    print('done')
    print('\n')
    print('pro')
    print('gress')
    await vi.advanceTimersByTimeAsync(100)
    print('out')
    print('err', 'stderr')
    await lines.end()
    expect(['"done\\n"', '"progress"', '"out"', '"err"'].map(times)).toEqual([[0], [0.05], [0.1], [0.1]])
  })

  it('is never silent for longer than five seconds', async () => {
    const { response, times } = answer()
    const lines = new CellLines(response, 1000)
    await vi.advanceTimersByTimeAsync(5100)
    lines.event({ type: 'output', stream: 'stdout', text: 'x' })
    await vi.advanceTimersByTimeAsync(11_000)
    // Half a line is told a moment later.
    expect(times('keepalive')).toEqual([5, 10.15, 15.15])
    await lines.end()
    expect(times('end_of_execution')).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(times('keepalive')).toHaveLength(3)
  })
})
