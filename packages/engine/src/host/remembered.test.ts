import { describe, expect, it } from 'vitest'
import { Remembered, RememberedByKey } from './remembered.ts'

describe('what is remembered', () => {
  it('is found out once, and again after a failure', async () => {
    let asked = 0
    const answers = [Promise.reject(new Error('not yet')), Promise.resolve('found')]
    const remembered = new Remembered(() => answers[asked++] ?? Promise.resolve('again'))
    const first = remembered.get()
    expect(remembered.get()).toBe(first)
    await expect(first).rejects.toThrow('not yet')
    expect(await remembered.known()).toBeNull()
    expect(await remembered.get()).toBe('found')
    expect(await remembered.get()).toBe('found')
    expect(await remembered.known()).toBe('found')
    expect(await remembered.renew()).toBe('again')
    remembered.forget()
    expect(await remembered.known()).toBeNull()
    expect(asked).toBe(3)
  })

  it('is not forgotten because an older search fails later', async () => {
    const older = Promise.withResolvers<string>()
    const remembered = new Remembered(() => older.promise)
    const first = remembered.get()
    expect(await remembered.renew(() => Promise.resolve('newer'))).toBe('newer')
    older.reject(new Error('too late'))
    await expect(first).rejects.toThrow('too late')
    expect(await remembered.known()).toBe('newer')
  })

  it('is kept for so many keys, and not for one that failed', async () => {
    const remembered = new RememberedByKey<number>(2)
    let asked = 0
    const next = (): Promise<number> => Promise.resolve(++asked)
    await expect(remembered.get('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(await remembered.get('a', next)).toBe(1)
    expect(await remembered.get('b', next)).toBe(2)
    expect(await remembered.get('a', next)).toBe(1)
    expect(await remembered.get('c', next)).toBe(3)
    expect(await remembered.get('b', next)).toBe(2)
    expect(await remembered.get('a', next)).toBe(4)
  })
})
