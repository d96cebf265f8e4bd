import { BOUNDS } from '@hearth/contract'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Lookups } from './lookups.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A resolver that answers when it is told to, and was asked these. */
function resolver(): { resolve: (name: string) => Promise<string[]>; asked: string[]; answer: (name: string) => void } {
  const asked: string[] = []
  const open = new Map<string, (found: string[]) => void>()
  return {
    asked,
    resolve: (name) => {
      asked.push(name)
      return new Promise((settle) => open.set(name, settle))
    },
    answer: (name) => open.get(name)?.([`192.0.2.${asked.length}`]),
  }
}

describe('lookups', () => {
  it('are shared by all sandboxes while they are under way and for a moment after', async () => {
    const { resolve, asked, answer } = resolver()
    const [one, other] = [new Lookups(resolve), new Lookups(resolve)]
    const found = Promise.all([one.addressesOf('a.test'), one.addressesOf('a.test'), other.addressesOf('a.test')])
    expect(asked).toEqual(['a.test'])
    answer('a.test')
    expect(await found).toEqual([['192.0.2.1'], ['192.0.2.1'], ['192.0.2.1']])
    vi.advanceTimersByTime(BOUNDS.lookupKeptMs - 1)
    expect(await other.addressesOf('a.test')).toEqual(['192.0.2.1'])
    vi.advanceTimersByTime(2)
    const later = other.addressesOf('a.test')
    answer('a.test')
    expect(await later).toEqual(['192.0.2.2'])
  })

  it('are but a few at one time for one sandbox, and as many for the next', async () => {
    const { resolve, asked, answer } = resolver()
    const [hostile, honest] = [new Lookups(resolve), new Lookups(resolve)]
    const outcomes = ['a', 'b', 'c', 'd'].map((name) => hostile.addressesOf(`${name}.test`).catch((error) => error))
    expect(asked).toHaveLength(BOUNDS.lookupsAtOnce)
    const found = honest.addressesOf('honest.test')
    answer('honest.test')
    expect(await found).toHaveLength(1)
    // What waited too long is refused and never asked for; what is still asked for goes on counting.
    vi.advanceTimersByTime(BOUNDS.lookupMs)
    for (const outcome of await Promise.all(outcomes))
      expect(outcome).toMatchObject({ code: 'egress_refused', context: { refusal: 'name_not_found' } })
    const next = hostile.addressesOf('e.test')
    expect(asked).not.toContain('e.test')
    answer('a.test')
    await vi.waitFor(() => expect(asked).toContain('e.test'))
    answer('e.test')
    expect(await next).toHaveLength(1)
    expect(asked).toEqual(['a.test', 'b.test', 'honest.test', 'e.test'])
  })

  it('that fail are not kept', async () => {
    let answers = 0
    const lookups = new Lookups(() =>
      answers++ === 0 ? Promise.reject(new Error('no')) : Promise.resolve(['192.0.2.1']),
    )
    await expect(lookups.addressesOf('a.test')).rejects.toMatchObject({ context: { refusal: 'name_not_found' } })
    expect(await lookups.addressesOf('a.test')).toEqual(['192.0.2.1'])
  })
})
