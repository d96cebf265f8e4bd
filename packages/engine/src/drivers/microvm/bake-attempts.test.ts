import { expect, it } from 'vitest'
import { BakeAttempts, FIRST_WAIT_MS, LONGEST_WAIT_MS } from './bake-attempts.ts'

const BAKED = { directory: '/baked/memory', disk: '/baked/disk' }

/** A clock that stands still until it is moved, and a bake that fails until it is mended. */
function stage() {
  const state = { now: 0, mended: false, tries: 0, problems: [] as string[] }
  const attempts = new BakeAttempts(() => state.now)
  const bake = async () => {
    state.tries++
    await Promise.resolve()
    if (!state.mended) throw new Error('no room')
    return BAKED
  }
  const get = (key = 'shape') =>
    attempts.get(key, bake, (what, error) => void state.problems.push(`${what}: ${(error as Error).message}`))
  return { state, get }
}

it('tells each failure once, and tries again later, after longer and longer waits', async () => {
  const { state, get } = stage()
  expect(await Promise.all([get(), get(), get()])).toEqual([null, null, null])
  expect([state.tries, state.problems]).toEqual([1, [expect.stringMatching(/tried again in 60 s: no room$/)]])
  for (let wait = FIRST_WAIT_MS, tries = 2; tries < 12; wait = Math.min(2 * wait, LONGEST_WAIT_MS), tries++) {
    state.now += wait - 1
    expect(await get()).toBeNull()
    expect(state.tries).toBe(tries - 1)
    state.now += 1
    expect(await get()).toBeNull()
    expect([state.tries, state.problems.length]).toEqual([tries, tries])
  }
  expect(state.problems.at(-1)).toMatch(/in 3600 s/)
})

it('goes on from what was made in the end, and forgets the failures before', async () => {
  const { state, get } = stage()
  await get()
  state.now += FIRST_WAIT_MS
  state.mended = true
  expect(await Promise.all([get(), get()])).toEqual([BAKED, BAKED])
  expect(await get()).toBe(BAKED)
  expect([state.tries, state.problems.length]).toEqual([3, 1])
  state.mended = false
  expect(await get()).toBeNull()
  expect(state.problems.at(-1)).toMatch(/in 60 s/)
})

it('keeps shapes apart', async () => {
  const { state, get } = stage()
  await get('one')
  state.mended = true
  expect(await get('other')).toBe(BAKED)
  expect(await get('one')).toBeNull()
})
