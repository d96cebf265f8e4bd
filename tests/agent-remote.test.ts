import { startAgent } from '@hearth/agent'
import type { Sandbox } from '@hearth/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CarefulModel, EFFECTS } from '../packages/agent/test/support/careful-model.ts'
import { ApiProcess } from './support/api-process.ts'

let server: ApiProcess
beforeAll(async () => {
  server = await ApiProcess.start()
})
afterAll(async () => await server[Symbol.asyncDispose]())

const WORDS = ['one', 'two']

describe('an agent over the client', () => {
  test('goes on when the server is killed under its calls', async () => {
    const sandbox: Sandbox = await server.client().create({ rung: 'process', template: 'host' })
    let begun = 0
    let restarted: Promise<void> = Promise.resolve()
    const run = await startAgent({
      sandbox,
      model: new CarefulModel([WORDS]),
      task: 'Leave marks.',
      workdir: '/tmp',
      onEvent: (event) => {
        if (event.type !== 'tool_started' || ++begun % 2 === 0 || begun > 5) return
        restarted = restarted.then(async () => {
          await server.kill('SIGKILL')
          await server.start()
        })
      },
    })
    expect(await run.result).toMatchObject({ reason: 'submitted', diff: { available: true } })
    await restarted
    expect(begun).toBeGreaterThanOrEqual(3)
    expect((await sandbox.files.readText(EFFECTS)).trim().split('\n').toSorted()).toEqual(WORDS.toSorted())
    await sandbox.kill()
  })
})
