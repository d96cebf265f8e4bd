import { expect, test } from 'vitest'
import { startGuest } from '../machine/test-guest.ts'
import { ScriptedPeer } from './scripted-peer.ts'

const QUIET = {
  env: {},
  cwd: null,
  user: null,
  timeoutMs: 20_000,
  pty: null,
  stdin: 'none',
  mergeOutput: false,
} as const

test('calls during a freeze wait for the thaw and notice nothing', async () => {
  await using guest = await startGuest()
  const process = await guest.machine.spawn({ ...QUIET, command: 'seq 100000' })
  await guest.link.freeze()
  const stat = guest.machine.files.stat('/')
  const ping = guest.link.ping()
  guest.link.thaw()
  expect((await stat).type).toBe('directory')
  await ping
  let bytes = 0
  for await (const chunk of process.output) bytes += chunk.data.length
  expect(bytes).toBe(588_895)
})

test('fifty commands run through twenty freezes', async () => {
  await using guest = await startGuest()
  const commands = Array.from({ length: 50 }, async (_, index) => {
    const process = await guest.machine.spawn({ ...QUIET, command: `seq ${index * 100}; sleep 0.1; echo end` })
    let text = ''
    for await (const chunk of process.output) text += Buffer.from(chunk.data).toString()
    expect(text.endsWith('end\n')).toBe(true)
    expect(text.split('\n').length).toBe(index * 100 + 2)
  })
  for (let round = 0; round < 20; round++) {
    await guest.link.freeze()
    guest.link.thaw()
  }
  await Promise.all(commands)
})

test('nothing is sent between Freeze and Thaw', async () => {
  const peer = await ScriptedPeer.greeted()
  const frozen = peer.link.freeze()
  expect(await peer.expect('Freeze')).toBe(0)
  const ping = peer.link.ping()
  peer.say('Frozen', { errno: 0, others: 1 }, 0)
  await frozen
  peer.link.thaw()
  expect(await peer.expect('Thaw')).toBe(0)
  expect(await peer.expect('Clock')).toBe(0)
  await peer.expect('Ping')
  peer.say('Pong', { token: 1n }, 0)
  await ping
})

test('a guest that cannot hold its files is thawed, and the freeze fails', async () => {
  const peer = await ScriptedPeer.greeted()
  const frozen = peer.link.freeze()
  await peer.expect('Freeze')
  peer.say('Frozen', { errno: 16, others: 0 }, 0)
  await expect(frozen).rejects.toMatchObject({ code: 'file_failed' })
  await peer.expect('Thaw')
  expect(peer.link.violation).toBeNull()
})

test('a guest that speaks while it is frozen, or says Frozen unasked, breaks the protocol', async () => {
  const talking = await ScriptedPeer.greeted()
  const frozen = talking.link.freeze()
  await talking.expect('Freeze')
  talking.say('Frozen', { errno: 0, others: 1 }, 0)
  await frozen
  talking.say('Pong', { token: 1n }, 0)
  expect(await talking.link.ended).toMatchObject({ kind: 'violation', detail: 'a frame of a frozen guest' })
  talking.link.thaw()

  const unasked = await ScriptedPeer.greeted()
  unasked.say('Frozen', { errno: 0, others: 1 }, 0)
  expect(await unasked.link.ended).toMatchObject({ kind: 'violation' })
})

test('the end of the link ends a freeze', async () => {
  const peer = await ScriptedPeer.greeted()
  const frozen = peer.link.freeze()
  await peer.expect('Freeze')
  peer.hangUp()
  await expect(frozen).rejects.toMatchObject({ code: 'link_lost' })
})

test('a paused sandbox is not frozen as well', async () => {
  const peer = await ScriptedPeer.greeted()
  peer.link.pause()
  await expect(peer.link.freeze()).rejects.toMatchObject({ code: 'conflict' })
})

test('a frozen sandbox that is stopped thaws when it resumes, and not before', async () => {
  const peer = await ScriptedPeer.greeted()
  const frozen = peer.link.freeze()
  await peer.expect('Freeze')
  peer.link.pause()
  peer.say('Frozen', { errno: 0, others: 1 }, 0)
  await frozen
  peer.link.pause()
  await peer.expect('KeeperPause')
  peer.link.thaw()
  const ping = peer.link.ping()
  peer.link.resume()
  await peer.expect('KeeperResume')
  await peer.expect('Thaw')
  await peer.expect('Clock')
  await peer.expect('Ping')
  peer.say('Pong', { token: 1n }, 0)
  await ping
})
