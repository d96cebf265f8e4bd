import { InvalidArgumentError } from 'commander'

const DURATIONS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const SIZES: Readonly<Record<string, number>> = { K: 1024, M: 1024 ** 2, G: 1024 ** 3, T: 1024 ** 4 }

/** `500ms`, `30s`, `1.5m`, `2h`, `1d` in milliseconds. A unit is required: a bare number says nothing. */
export function parseDuration(text: string): number {
  const [amount, factor] = split(text, DURATIONS, 'a duration like 500ms, 30s, 10m, 2h or 1d')
  const milliseconds = amount * factor
  if (milliseconds < 1) throw new InvalidArgumentError('It must be at least 1ms.')
  return wholeNumber(milliseconds)
}

/** `512K`, `512M`, `1.5G`, `1T` in bytes, with the powers of 1024. `MiB` and `MB` are taken as `M`. */
export function parseSize(text: string): number {
  const [amount, factor] = split(text.replace(/i?B$/, ''), SIZES, 'a size like 64K, 512M or 2G')
  if (amount === 0) throw new InvalidArgumentError('It must be more than zero.')
  return wholeNumber(amount * factor)
}

/** What a pool may hold of memory: a size, or `off`, which is 0. */
export function parsePool(text: string): number {
  return text === 'off' ? 0 : parseSize(text)
}

/** A whole number from 1. */
export function parseCount(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 1, like 64.')
  return Number(text)
}

/** Cores: `1`, `0.5`, `2.25`. */
export function parseCpus(text: string): number {
  if (!/^\d{1,4}(\.\d{1,3})?$/.test(text) || Number(text) === 0) {
    throw new InvalidArgumentError('It must be a number of cores, like 1 or 0.5.')
  }
  return Number(text)
}

/** One of a few words. */
export function parseWord(words: readonly string[]): (text: string) => string {
  return (text) => {
    if (words.includes(text)) return text
    throw new InvalidArgumentError(`It must be ${words.slice(0, -1).join(', ')} or ${words.at(-1)}.`)
  }
}

/** Collects `KEY=VALUE`; the value may be empty and may contain `=`. */
export function collectPair(text: string, previous: Readonly<Record<string, string>> = {}): Record<string, string> {
  const separator = text.indexOf('=')
  if (separator < 1) throw new InvalidArgumentError('It must be KEY=VALUE.')
  return { ...previous, [text.slice(0, separator)]: text.slice(separator + 1) }
}

/** Collects what is given several times. */
export function collectWord(text: string, previous: readonly string[] = []): string[] {
  return [...previous, text]
}

function split(
  text: string,
  units: Readonly<Record<string, number>>,
  wanted: string,
): [amount: number, factor: number] {
  const match = /^(\d{1,12}(?:\.\d{1,3})?)([A-Za-z]*)$/.exec(text)
  if (match === null) throw new InvalidArgumentError(`It must be ${wanted}.`)
  const unit = match[2] ?? ''
  const factor = Object.hasOwn(units, unit) ? units[unit] : undefined
  if (factor !== undefined) return [Number(match[1]), factor]
  const problem = unit === '' ? 'The unit is missing' : `'${unit}' is not a unit here`
  throw new InvalidArgumentError(`${problem}: it must be ${wanted}.`)
}

function wholeNumber(value: number): number {
  const whole = Math.round(value)
  if (!Number.isSafeInteger(whole)) throw new InvalidArgumentError('It is too large.')
  return whole
}
