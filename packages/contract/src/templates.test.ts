import { describe, expect, it } from 'vitest'
import { registryCredentialsSchema } from './templates.ts'

describe('credentials of a registry', () => {
  const isFine = (username: string, password: string): boolean =>
    registryCredentialsSchema.safeParse({ username, password }).success

  it('are what a Basic header can hold', () => {
    expect(isFine('_json_key', '{"private_key": "line\nline"}')).toBe(true)
    for (const username of ['', 'a:b', 'a\nb', 'a\0b']) expect(isFine(username, 'x')).toBe(false)
    expect(isFine('a', '')).toBe(false)
  })

  it('have bounds', () => {
    expect([isFine('u'.repeat(256), 'x'), isFine('u'.repeat(257), 'x')]).toEqual([true, false])
    expect([isFine('u', 'x'.repeat(16 * 1024)), isFine('u', 'x'.repeat(16 * 1024 + 1))]).toEqual([true, false])
  })
})
