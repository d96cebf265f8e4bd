import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { collectPair, parseCount, parseCpus, parseDuration, parseSize } from './quantity.ts'

describe('durations', () => {
  it.each([
    ['500ms', 500],
    ['30s', 30_000],
    ['1.5m', 90_000],
    ['2h', 7_200_000],
    ['1d', 86_400_000],
  ])('%s', (text, expected) => expect(parseDuration(text)).toBe(expected))

  it.each([
    ['30', 'The unit is missing: it must be a duration like 500ms, 30s, 10m, 2h or 1d.'],
    ['30x', "'x' is not a unit here: it must be a duration like 500ms, 30s, 10m, 2h or 1d."],
    ['5M', "'M' is not a unit here: it must be a duration like 500ms, 30s, 10m, 2h or 1d."],
    ['-5s', 'It must be a duration like 500ms, 30s, 10m, 2h or 1d.'],
    ['', 'It must be a duration like 500ms, 30s, 10m, 2h or 1d.'],
    ['0s', 'It must be at least 1ms.'],
    ['1 s', 'It must be a duration like 500ms, 30s, 10m, 2h or 1d.'],
    ['5constructor', "'constructor' is not a unit here: it must be a duration like 500ms, 30s, 10m, 2h or 1d."],
    ['999999999999d', 'It is too large.'],
  ])('refuses %j', (text, message) => expect(() => parseDuration(text)).toThrow(message))
})

describe('sizes', () => {
  it.each([
    ['64K', 65_536],
    ['512M', 536_870_912],
    ['512MiB', 536_870_912],
    ['1.5G', 1_610_612_736],
    ['1T', 1_099_511_627_776],
  ])('%s', (text, expected) => expect(parseSize(text)).toBe(expected))

  it.each([
    ['512', 'The unit is missing: it must be a size like 64K, 512M or 2G.'],
    ['512m', "'m' is not a unit here: it must be a size like 64K, 512M or 2G."],
    ['0M', 'It must be more than zero.'],
    ['lots', 'It must be a size like 64K, 512M or 2G.'],
  ])('refuses %j', (text, message) => expect(() => parseSize(text)).toThrow(message))
})

describe('counts, cores and pairs', () => {
  it('takes what is written', () => {
    expect(parseCount('64')).toBe(64)
    expect(parseCpus('0.5')).toBe(0.5)
    expect(collectPair('A=b=c', collectPair('X='))).toEqual({ X: '', A: 'b=c' })
  })

  it.each(['0', '-1', '1.5', 'x', ''])('refuses the count %j', (text) =>
    expect(() => parseCount(text)).toThrow('whole number'),
  )
  it.each(['0', '1e3', '-1', ''])('refuses the cores %j', (text) =>
    expect(() => parseCpus(text)).toThrow('number of cores'),
  )
  it.each(['A', '=b', ''])('refuses the pair %j', (text) => expect(() => collectPair(text)).toThrow('KEY=VALUE'))
})

it('answers any text with a safe number or with a refusal', () => {
  fc.assert(
    fc.property(fc.string(), fc.constantFrom(parseDuration, parseSize, parseCount, parseCpus), (text, parse) => {
      try {
        expect(parse(text)).toBeGreaterThan(0)
      } catch (error) {
        expect(error).toHaveProperty('code', 'commander.invalidArgument')
      }
    }),
  )
})
