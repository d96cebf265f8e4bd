import type { z } from 'zod'

type Issue = z.core.$ZodIssue

const KINDS: Readonly<Record<string, string>> = {
  int: 'a whole number',
  number: 'a number',
  string: 'text',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'a list',
}

/** What is wrong with a file of settings, each with its path and what was expected. `complete` has every setting that there is. */
export function configurationProblems(issues: readonly Issue[], content: unknown, complete: unknown): string[] {
  return issues.flatMap((issue) => problemsOf(issue, [], content, complete))
}

function problemsOf(issue: Issue, above: readonly PropertyKey[], content: unknown, complete: unknown): string[] {
  const path = [...above, ...issue.path]
  const where = path.length === 0 ? 'the file' : path.map(String).join('.')
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownSetting(path, key, complete))
  if (issue.code === 'invalid_union') {
    // That of an object speaks of what is in it; the others say only that it is none.
    const inner = issue.errors.find((branch) =>
      branch.some((one) => one.path.length > 0 || one.code === 'unrecognized_keys'),
    )
    if (inner !== undefined) return inner.flatMap((one) => problemsOf(one, path, content, complete))
    const values = issue.errors.flat().map(expected)
    return [
      `${where}: ${issue.message.startsWith('must') ? issue.message : `must be ${[...new Set(values)].join(' or ')}`}`,
    ]
  }
  const wanted = expected(issue)
  if (issue.code === 'invalid_type') {
    if (issue.expected === 'nonoptional') return [`${where}: is missing`]
    const unit = /^(int|number)$/.test(issue.expected) ? unitOf(where) : ''
    return [`${where}: must be ${wanted}${unit}, and ${found(at(content, path))}`]
  }
  return [`${where}: ${/^(Invalid|Too)/.test(issue.message) ? `must be ${wanted}` : issue.message}`]
}

function expected(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return KINDS[issue.expected] ?? issue.expected
    case 'too_small':
      return `${Number(issue.minimum)} or more${countedIn(issue.origin)}`
    case 'too_big':
      return `${Number(issue.maximum)} or less${countedIn(issue.origin)}`
    case 'invalid_value':
      return issue.values.map((value) => JSON.stringify(value)).join(' or ')
    default:
      return issue.message
  }
}

const countedIn = (origin: string): string =>
  origin === 'string' ? ' characters' : origin === 'array' ? ' entries' : ''

const unitOf = (name: string): string =>
  name.endsWith('Bytes') ? ' of bytes' : name.endsWith('Ms') ? ' of milliseconds' : ''

function unknownSetting(path: readonly PropertyKey[], key: string, complete: unknown): string {
  const place = at(complete, path)
  const there = typeof place === 'object' && place !== null ? Object.keys(place) : []
  const where = [...path, key].map(String).join('.')
  if (key === 'home' && path.length === 0) return 'home: all commands need it, so that HEARTH_HOME names it'
  const close = there.find((name) => name.toLowerCase() === key.toLowerCase())
  if (close !== undefined) return `${where}: there is no such setting; it is called ${close}`
  return `${where}: there is no such setting${there.length === 0 ? '' : `; there are ${there.join(', ')}`}`
}

function at(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, key) =>
      typeof inner === 'object' && inner !== null ? (inner as Record<PropertyKey, unknown>)[key] : undefined,
    value,
  )
}

function found(value: unknown): string {
  if (value === undefined) return 'is missing'
  if (value === null) return 'is null'
  if (Array.isArray(value)) return 'is a list'
  if (typeof value === 'string') return 'is text'
  if (typeof value === 'number') return Number.isInteger(value) ? 'is a number' : 'is no whole number'
  return typeof value === 'boolean' ? `is ${value}` : 'is an object'
}
