import type { CodeEvent } from '@hearth/contract'
import { describe, expect, it } from 'vitest'
import { CellOutput } from './cell-output.ts'

const MARK = 'abc'
const shown = (data: Record<string, string>, main = false): string =>
  `\x1e${MARK}${JSON.stringify({ display: { main, data } })}\n`
const answer = `\x1e${MARK}${JSON.stringify({ text: '1', error: null })}\n`

function gather(text: string | Buffer, { limit = 10_000, piece = Infinity } = {}) {
  const events: CodeEvent[] = []
  const cell = new CellOutput(MARK, limit, (event) => void events.push(event))
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += piece) {
    const data = bytes.subarray(at, Math.min(at + piece, bytes.length))
    cell.add({ stream: 'stdout', data, offset: at, dropped: 0 })
  }
  cell.add({ stream: 'stderr', data: Buffer.from(`\x1e${MARK}\n`), offset: 0, dropped: 0 })
  return { result: cell.result(null), events }
}

describe('what a cell prints and shows', () => {
  const text = `before ä\n${shown({ 'text/html': '<b>ü</b>' })}after\n${shown({ 'image/png': 'AA==' }, true)}${answer}`

  it.each([1, 7, Infinity])('is told in its order, in pieces of %s bytes', (piece) => {
    const { result, events } = gather(text, { piece })
    expect(result).toMatchObject({ stdout: 'before ä\nafter\n', text: '1', error: null, truncated: false })
    expect(result.displays).toEqual([
      { main: false, data: { 'text/html': '<b>ü</b>' } },
      { main: true, data: { 'image/png': 'AA==' } },
    ])
    const order = events.map((event) => (event.type === 'output' ? event.text : '*')).join('')
    expect(order).toBe('before ä\n*after\n*')
  })

  it('is told at once, but for what may be the beginning of a mark', () => {
    const told: string[] = []
    const cell = new CellOutput(MARK, 1000, (event) => void (event.type === 'output' && told.push(event.text)))
    const add = (text: string): void => {
      cell.add({ stream: 'stdout', data: Buffer.from(text), offset: 0, dropped: 0 })
    }
    for (const text of ['x', 'ab\x1e', 'no mark', `\x1e${MARK.slice(0, 1)}`, 'other', `\x1e${MARK.slice(0, 1)}`])
      add(text)
    expect(told).toEqual(['x', 'ab', '\x1eno mark', `\x1e${MARK.slice(0, 1)}other`])
  })

  it('is cut at its limit, and the answer still comes', () => {
    const { result } = gather(`${shown({ a: 'x'.repeat(500) })}${shown({ b: 'y'.repeat(500) })}printed${answer}`, {
      limit: 800,
    })
    expect(result).toMatchObject({ stdout: 'printed', text: '1', truncated: true })
    expect(result.displays.map(({ data }) => Object.keys(data))).toEqual([['a']])
  })

  it('is a thousand things at the most', () => {
    const { result } = gather(shown({ a: 'b' }).repeat(1001) + answer, { limit: 1_000_000 })
    expect([result.displays.length, result.text]).toEqual([1000, '1'])
  })

  it('that is not what it should be is left out', () => {
    const wrong = `\x1e${MARK}{"display":{"main":1}}\n\x1e${MARK}{"display"\n`
    expect(gather(`a${wrong}b${answer}`).result).toMatchObject({ stdout: 'ab', displays: [], text: '1' })
  })
})
