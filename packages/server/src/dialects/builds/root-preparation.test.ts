import { expect, it } from 'vitest'
import { RootPreparation } from './root-preparation.ts'

const OPERATOR = new Set(['operator'] as const)

/** An engine whose templates are there when they are told to be. */
function engine() {
  const tasks: {
    readonly name: string
    readonly signal: AbortSignal
    say: (line: string) => void
    end: (error?: Error) => void
  }[] = []
  const resolve = (
    name: string,
    options: { signal: AbortSignal; onProgress: (line: string) => void },
  ): Promise<void> => {
    const { promise, resolve: done, reject } = Promise.withResolvers<void>()
    options.signal.addEventListener('abort', () => reject(new Error('aborted')))
    const end = (error?: Error): void => (error === undefined ? done() : reject(error))
    tasks.push({ name, signal: options.signal, say: options.onProgress, end })
    return promise
  }
  const plan = async ({ template = 'host' }: { template?: string }) => ({ template })
  const warned: unknown[] = []
  const logger = { warn: (line: unknown) => void warned.push(line) }
  const made = new RootPreparation({ plan, templates: { resolve } } as never, logger as never)
  return { made, tasks, warned }
}

it('waits for what is quick, and afterwards not at all', async () => {
  const { made, tasks } = engine()
  const waiting = made.wait(OPERATOR, { template: 'debian' }, 5000)
  await expect.poll(() => tasks.length).toBe(1)
  tasks[0]?.end()
  await waiting
  await made.wait(OPERATOR, { template: 'debian' }, 0)
  expect(tasks).toHaveLength(1)
})

it('says what is under way, and lets it go on', async () => {
  const { made, tasks } = engine()
  await expect(made.wait(OPERATOR, { template: 'debian' }, 10)).rejects.toMatchObject({
    code: 'template_not_ready',
    retryable: true,
  })
  tasks[0]?.say('unpacking python3\n')
  await expect(made.wait(OPERATOR, { template: 'debian', rung: 'gvisor' }, 10)).rejects.toThrow(/unpacking python3/)
  expect(tasks.map(({ signal }) => signal.aborted)).toEqual([false])
  const waiting = made.wait(OPERATOR, { template: 'debian' }, 1000)
  setImmediate(() => tasks[0]?.end())
  await waiting
})

it('tells why it failed, and tries again', async () => {
  const { made, tasks, warned } = engine()
  const waiting = made.wait(OPERATOR, { template: 'debian' }, 5000)
  await expect.poll(() => tasks.length).toBe(1)
  tasks[0]?.end(new Error('no space'))
  await expect(waiting).rejects.toThrow('no space')
  expect(warned).toHaveLength(1)
  const again = made.wait(OPERATOR, { template: 'debian' }, 5000)
  await expect.poll(() => tasks.length).toBe(2)
  tasks[1]?.end()
  await again
})

it('ends what is under way with the server', async () => {
  const { made, tasks } = engine()
  await expect(made.wait(OPERATOR, { template: 'debian' }, 10)).rejects.toMatchObject({ code: 'template_not_ready' })
  await made.close()
  expect(tasks[0]?.signal.aborted).toBe(true)
})

it('makes a few at once, and finds others that are there', async () => {
  const { made, tasks } = engine()
  const codes = await Promise.all(
    ['a', 'b', 'c', 'd', 'e'].map((template) =>
      made.wait(OPERATOR, { template }, 20).catch((error: { code: string }) => error.code),
    ),
  )
  expect(codes).toEqual([...Array<string>(4).fill('template_not_ready'), 'too_many'])
  expect(tasks.map(({ signal }) => signal.aborted)).toEqual([false, false, false, false, true])
  const waiting = made.wait(OPERATOR, { template: 'there' }, 5000)
  await expect.poll(() => tasks.length).toBe(6)
  tasks[5]?.end()
  await waiting
})
