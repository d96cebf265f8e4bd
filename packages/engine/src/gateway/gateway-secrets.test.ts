import { expect, test, vi } from 'vitest'
import { MESSAGE_TYPES } from '../link/messages.gen.ts'
import { FIRST_GUEST_CHANNEL } from '../link/guest-channels.ts'
import { scriptedGateway, type ScriptedGateway } from './scripted-gateway.fixture.ts'

const SECRET = {
  name: 'TOKEN',
  value: 'ghp_0123456789abcdefghij',
  binding: { name: 'git.example', placement: { in: 'basic' } },
} as const

/** Nothing is dialed in these tests: what would be is refused for its address. */
async function start(port: number): Promise<ScriptedGateway> {
  return await scriptedGateway({ allow: [{ name: 'git.example', ports: [port] }] }, [SECRET])
}

test.each([
  [22, 'address_not_public'],
  [5432, 'address_not_public'],
  [443, 'protocol_not_allowed'],
  [8443, 'protocol_not_allowed'],
] as const)(
  'a secret for a name leaves other protocols as they are at their ports alone: %i',
  async (port, refusal) => {
    const { entries, gateway, peer } = await start(port)
    const { address } = gateway.lookup('git.example')
    peer.say('Dial', { address, port, process: 0, scope: 0 }, FIRST_GUEST_CHANNEL)
    peer.say('Data', { bytes: Buffer.from('SSH-2.0-OpenSSH\r\n') }, FIRST_GUEST_CHANNEL)
    expect((await peer.next()).type).toBe(MESSAGE_TYPES.Close)
    await vi.waitFor(() => expect(entries).toHaveLength(2))
    expect(entries).toMatchObject([{ refusal }, { kind: 'connection' }])
  },
)

test('a connection that was opened for a secret ends when that is removed', async () => {
  const { entries, gateway, peer } = await start(443)
  const { address } = gateway.lookup('git.example')
  peer.say('Dial', { address, port: 443, process: 0, scope: 0 }, FIRST_GUEST_CHANNEL)
  await new Promise((resolve) => setTimeout(resolve, 20))
  gateway.replaceSecrets([{ ...SECRET, value: 'ghp_9876543210abcdefghij' }])
  expect(entries).toEqual([])
  gateway.replaceSecrets([{ ...SECRET, binding: { ...SECRET.binding, name: 'removed.invalid' } }])
  expect((await peer.next()).type).toBe(MESSAGE_TYPES.Close)
  await vi.waitFor(() => expect(entries).toHaveLength(2))
  expect(entries).toMatchObject([{ refusal: 'denied' }, { kind: 'connection' }])
})
