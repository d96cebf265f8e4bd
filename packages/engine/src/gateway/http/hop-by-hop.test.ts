import { expect, test } from 'vitest'
import { withoutHopByHop } from './hop-by-hop.ts'

test('what Connection names is not passed on, except for what a body is read by', () => {
  const body = [
    ['Content-Length', '3'],
    ['Content-Encoding', 'gzip'],
    ['Content-Type', 'application/json'],
    ['grpc-encoding', 'gzip'],
  ] as const
  const named = ['X-One', 'content-length', 'content-encoding', 'Content-Type', 'grpc-encoding'].join(', ')
  expect(withoutHopByHop([['Connection', named], ['x-one', '1'], ...body, ['x-two', '2']])).toEqual([
    ...body,
    ['x-two', '2'],
  ])
})
