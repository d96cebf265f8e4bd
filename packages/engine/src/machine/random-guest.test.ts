import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fieldsOf } from '../link/message-arbitraries.ts'
import { GUEST_MESSAGES, type MessageName, type Messages } from '../link/messages.gen.ts'
import { frameOf, ScriptedPeer } from '../link/scripted-peer.ts'
import { scriptedMachine } from './scripted-machine.ts'
import type { LinkMachine } from './link-machine.ts'

/** Messages of a guest, each well formed, in an order without sense. */
const babble = fc.array(
  fc.tuple(
    fc
      .constantFrom<MessageName>(...GUEST_MESSAGES.values())
      .chain((name) => fieldsOf(name).map((message) => ({ name, message }))),
    fc.integer({ min: 0, max: 9 }),
  ),
  { maxLength: 40 },
)

async function consume(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const piece of stream) expect(piece).toBeDefined()
}

const CALLS: readonly ((machine: LinkMachine) => Promise<unknown>)[] = [
  async (machine) => {
    const process = await machine.spawn({
      command: 'true',
      env: {},
      cwd: null,
      user: null,
      timeoutMs: 0,
      pty: null,
      stdin: 'pipe',
      mergeOutput: false,
    })
    await process.write('input')
    await consume(process.output)
    return await process.wait()
  },
  (machine) => machine.attach(1, 0).then((process) => process.wait()),
  (machine) => machine.processes(),
  (machine) => machine.watch('/a', true).then(consume),
  (machine) => machine.connect(80).then((connection) => consume(connection.data)),
  (machine) => machine.stats(),
  (machine) => machine.files.read('/a'),
  (machine) => consume(machine.files.archive('/a')),
  (machine) => machine.files.write('/a', 'content'),
]

test('whatever a guest says, every call ends, with an answer or with a typed error', async () => {
  await fc.assert(
    fc.asyncProperty(babble, async (messages) => {
      const peer = await ScriptedPeer.greeted()
      const { machine } = scriptedMachine(peer)
      const calls = CALLS.map((call) =>
        call(machine).then(
          () => null,
          (error: unknown) => error,
        ),
      )
      for (const [{ name, message }, channel] of messages)
        peer.raw(frameOf(name, message as Messages[typeof name], channel))
      peer.hangUp()
      for (const error of await Promise.all(calls)) if (error !== null) expect(error).toHaveProperty('code')
      expect(['violation', 'lost']).toContain((await peer.link.ended).kind)
      await machine.kill()
    }),
    { numRuns: 300 },
  )
})
