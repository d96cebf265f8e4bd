import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { settleAtMost } from './settle-at-most.ts'

it('does so many at a time, and goes on when one fails', async () => {
  let running = 0
  let most = 0
  const settled = await settleAtMost(3, [1, 2, 3, 4, 5, 6, 7], async (number) => {
    most = Math.max(most, ++running)
    await sleep(number % 2)
    running--
    if (number === 4) throw new Error('gone')
    return number * 10
  })
  expect(most).toBe(3)
  expect(settled.map((each) => (each.status === 'fulfilled' ? each.value : String(each.reason)))).toEqual([
    10,
    20,
    30,
    'Error: gone',
    50,
    60,
    70,
  ])
  expect(await settleAtMost(3, [], async () => 1)).toEqual([])
})
