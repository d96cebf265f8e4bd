import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { matchesGlob, matchesName } from './glob.ts'

describe('patterns of paths', () => {
  it.each([
    ['/a/b/c.ts', '/a/**/*.ts', true],
    ['/a/c.ts', '/a/**/*.ts', true],
    ['/a/c.ts', '/a/*.{js,ts}', true],
    ['/a/c.ts', '/a/*.{js,py}', false],
    ['/a/b/c.ts', '/a/*.ts', false],
    ['/a/b', '/a/?', true],
    ['/a/b', '/**', true],
    ['/a/b/c', '/a/**', true],
    ['/a', '/{a', false],
  ])('%s is %s: %s', (path, pattern, expected) => {
    expect(matchesGlob(path, pattern)).toBe(expected)
  })

  it('match names as the regular expression would', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '.'), maxLength: 12 })
    const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?', '.'), maxLength: 8 })
    fc.assert(
      fc.property(text, pattern, (name, glob) => {
        const expression = glob.replaceAll('.', '\\.').replaceAll('*', '.*').replaceAll('?', '.')
        expect(matchesName(name, glob)).toBe(new RegExp(`^${expression}$`, 's').test(name))
      }),
    )
  })

  it('take no time, whatever they are', () => {
    expect(matchesGlob(`/${'a'.repeat(4000)}`, `/${'*a'.repeat(500)}b`)).toBe(false)
    expect(matchesGlob(`/${'a/'.repeat(500)}b`, `/${'**/'.repeat(300)}c`)).toBe(false)
    expect(matchesGlob('/a', '{a,b}'.repeat(100))).toBe(false)
  })
})
