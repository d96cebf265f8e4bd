import { expect, it } from 'vitest'
import { Places } from './places.ts'

it('are those of all above too, and are given back', () => {
  const above = new Places(2, 100, null)
  const below = new Places(5, 100, above)
  const [first, second] = [below.take(), above.take()]
  expect([first, second]).not.toContain(null)
  expect([below.take(), above.take()]).toEqual([null, null])
  first?.[Symbol.dispose]()
  expect(below.take()).not.toBeNull()
})

it('are as many in all as was said, also when they were given back', () => {
  const above = new Places(5, 2, null)
  const below = new Places(5, 100, above)
  for (let made = 0; made < 2; made++) below.take()?.[Symbol.dispose]()
  expect([below.take(), above.take()]).toEqual([null, null])
})
