import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { collect, present, SPAWN, WINDOW } from './guest-process.ts'
import { useGuest } from './guest-fixture.ts'

const fixture = useGuest()
const shell = (script: string) => ['sh', '-c', script]
const CONFIGURE = {
  hostname: '',
  realtimeNanoseconds: 0n,
  entropy: new Uint8Array(),
  environment: [],
  workdir: '',
  user: '',
  openFiles: 0,
  pids: 0,
  retainedOutputBytes: 0,
  flags: 0,
}

describe('retained output', () => {
  it('holds the process up while the reader takes nothing, and loses nothing', async () => {
    const { guest } = fixture
    const conversation = guest.request('Spawn', { ...SPAWN, argv: shell('head -c 3000000 /dev/zero; echo done >&2') })
    conversation.generous = false
    await conversation.expect('Spawned')
    await delay(300)
    const { process } = await running()
    expect(process.state).toBe(0)
    expect(Number(process.outputBytes)).toBeLessThanOrEqual(1_048_576 + WINDOW)
    conversation.generous = true
    conversation.send('Credit', { bytes: 4_000_000 })
    const result = await collect(conversation)
    expect(result.stdout.length).toBe(3_000_000)
    expect(result.stderr).toBe('done\n')
    expect(result.exited?.outputBytes).toBe(3_000_005n)
  })

  it('drops the oldest without a reader, and says where the rest begins', async () => {
    const { guest } = fixture
    await guest.request('Configure', { ...CONFIGURE, retainedOutputBytes: 10_000 }).expect('Done')
    const conversation = guest.request('Spawn', { ...SPAWN, argv: shell('sleep 0.2; seq 1 20000') })
    const { process } = await conversation.expect('Spawned')
    conversation.send('Close', {})
    await delay(600)
    const attached = guest.request('Attach', { process, offset: 5n })
    const { oldestOffset } = await attached.expect('Spawned')
    expect(oldestOffset).toBe(108_894n - 10_000n)
    const messages = await attached.all()
    const outputs = messages.flatMap((message) => (message.name === 'Output' ? [message.body] : []))
    expect(outputs[0]?.offset).toBe(oldestOffset)
    const text = Buffer.concat(outputs.map((output) => output.bytes)).toString()
    expect(text.length).toBe(10_000)
    expect(text.endsWith('\n20000\n')).toBe(true)
  })

  it('attaches from an offset, beside those who follow already', async () => {
    const { guest } = fixture
    const first = guest.request('Spawn', { ...SPAWN, argv: shell('echo 0123456789; sleep 0.4; echo end') })
    const { process } = await first.expect('Spawned')
    await first.expect('Output')
    const second = guest.request('Attach', { process, offset: 4n })
    expect((await collect(second)).stdout).toBe('456789\nend\n')
    expect((await first.all()).map(({ name }) => name)).toEqual(['Output', 'Exited'])
    const third = guest.request('Attach', { process, offset: 10n })
    expect((await collect(third)).stdout).toBe('\nend\n')
    expect(await guest.request('Attach', { process: 12_345, offset: 0n }).expect('Failed')).toMatchObject({ errno: 3 })
  })

  it('retains the last 256 ended processes, and forgets when told', async () => {
    const { guest } = fixture
    const first = await guest.exec(['echo', 'first'])
    for (let i = 0; i < 8; i++) await Promise.all(Array.from({ length: 32 }, () => guest.exec(['true'])))
    expect(await guest.request('Attach', { process: first.process, offset: 0n }).expect('Failed')).toMatchObject({
      errno: 3,
    })
    const last = await guest.exec(['echo', 'last'])
    expect((await collect(guest.request('Attach', { process: last.process, offset: 0n }))).stdout).toBe('last\n')
    await guest.request('Forget', { process: last.process }).expect('Done')
    expect(await guest.request('Attach', { process: last.process, offset: 0n }).expect('Failed')).toMatchObject({
      errno: 3,
    })
    const processes = (await guest.request('ListProcesses', {}).all()).filter((message) => message.name === 'Process')
    expect(processes.length).toBe(255)
  }, 60_000)

  it('keeps the order of many small pieces of both streams', async () => {
    const script = 'import os\nfor i in range(20000): os.write(1 + i % 2, b"ab"[i % 2 : i % 2 + 1])'
    const result = await fixture.guest.exec(['python3', '-c', script])
    expect(result.stdout.length).toBe(10_000)
    expect(result.stderr.length).toBe(10_000)
  })

  it('lists what runs', async () => {
    const conversation = fixture.guest.request('Spawn', { ...SPAWN, argv: ['sleep', '100'] })
    const spawned = await conversation.expect('Spawned')
    const { process } = await running()
    expect(process).toMatchObject({ process: spawned.process, pid: spawned.pid, state: 0, argv: ['sleep', '100'] })
  })
})

async function running() {
  const messages = await fixture.guest.request('ListProcesses', {}).all()
  const [first] = messages.flatMap((message) => (message.name === 'Process' ? [message.body] : []))
  return { process: present(first) }
}
