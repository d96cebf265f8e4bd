import { expect, it } from 'vitest'
import { collectVolume } from './volume-option.ts'

it('takes a volume, where it shall be, and whether it is only read', () => {
  expect(collectVolume('data:/data')).toEqual([{ volume: 'data', path: '/data', readOnly: false }])
  const both = collectVolume('other:/a/b:ro', collectVolume('data:/data:rw'))
  expect(both.map(({ path, readOnly }) => [path, readOnly])).toEqual([
    ['/data', false],
    ['/a/b', true],
  ])
})

it.each(['', 'data', 'data:', ':/data', 'data:relative', 'data:/data:x', 'data:/data:ro:ro', '/host:/data:rx'])(
  'refuses %s',
  (text) => {
    expect(() => collectVolume(text)).toThrow('NAME:PATH')
  },
)
