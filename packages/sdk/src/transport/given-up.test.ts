import { expect, it } from 'vitest'
import { unlessGivenUp } from './given-up.ts'

/** Something that is made when it is told to be. */
function making() {
  const removed: string[] = []
  let asked = 0
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const make = async (): Promise<string> => {
    asked++
    return await promise
  }
  const remove = async (made: string): Promise<void> => void removed.push(made)
  return { make, remove, removed, resolve, reject, asked: () => asked }
}

it('asks for nothing when the caller has given up before', async () => {
  const { make, remove, asked } = making()
  await expect(unlessGivenUp(AbortSignal.abort(), make, remove)).rejects.toMatchObject({ code: 'aborted' })
  expect(asked()).toBe(0)
})

it('removes what is there after the caller gave up, who does not wait for it', async () => {
  const { make, remove, removed, resolve } = making()
  const gone = new AbortController()
  const waiting = unlessGivenUp(gone.signal, make, remove)
  gone.abort()
  await expect(waiting).rejects.toMatchObject({ code: 'aborted' })
  expect(removed).toEqual([])
  resolve('made')
  await expect.poll(() => removed).toEqual(['made'])
})

it('keeps what the caller has', async () => {
  const { make, remove, removed, resolve } = making()
  const gone = new AbortController()
  resolve('made')
  expect(await unlessGivenUp(gone.signal, make, remove)).toBe('made')
  gone.abort()
  await Promise.resolve()
  expect(removed).toEqual([])
})

it('has nothing to remove when it fails, then or later', async () => {
  const early = making()
  early.reject(new Error('no room'))
  await expect(unlessGivenUp(new AbortController().signal, early.make, early.remove)).rejects.toThrow('no room')
  const late = making()
  const gone = new AbortController()
  const waiting = unlessGivenUp(gone.signal, late.make, late.remove)
  gone.abort()
  await expect(waiting).rejects.toMatchObject({ code: 'aborted' })
  late.reject(new Error('no room'))
  await new Promise((resolve) => setImmediate(resolve))
  expect([...early.removed, ...late.removed]).toEqual([])
})
