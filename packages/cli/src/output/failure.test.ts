import { HearthError } from '@hearth/sdk'
import { expect, it } from 'vitest'
import { failureOf } from './failure.ts'

it('a failure is not hidden behind that of its clean-up', async () => {
  const work = async (): Promise<void> => {
    await using stack = new AsyncDisposableStack()
    stack.defer(() => Promise.reject(new Error('and the clean-up failed')))
    throw new HearthError('store_full', 'there is no room')
  }
  const error = await work().catch((caught: unknown) => caught)
  expect(failureOf(error)).toMatchObject({ code: 'store_full', message: 'there is no room' })
})
