import { writeSync } from 'node:fs'
import { HearthError } from '@hearth/contract'
import { NEVER, TestServer } from '../../packages/server/src/lifecycle/test-server.ts'
import { seededRandom } from './seeded-random.ts'

/**
 * A server under load that is killed by its test. Each line says what a client began or was answered; it is written at once, so
 * that it is there however the process ends. Arguments: the home, a seed, whether machines wait in a pool, and sandboxes that it leaves alone.
 */
const [home = '', seed = '0', pool = 'off', ...alone] = process.argv.slice(2)
const WORKERS = 4
const SANDBOXES_PER_WORKER = 3
const SHORT_MS = 1000
const random = seededRandom(Number(seed))
const server = await TestServer.start(home, {
  spareKeepers: 2,
  pool: pool === 'on' ? { quietMs: 0, perShape: 2 } : false,
})
const caller = await server.caller()
let keys = 0

function say(...words: string[]): void {
  writeSync(1, `${words.join(' ')}\n`)
}

function newKey(): string {
  return `${seed}-${keys++}`
}

/** Says that it begins, does it, and says what came of it. */
async function tell(words: readonly string[], work: () => Promise<string | null>): Promise<string | null> {
  say('begin', ...words)
  const answer = await work()
  say('end', ...words, ...(answer === null ? [] : [answer]))
  return answer
}

async function make(): Promise<string> {
  const key = newKey()
  const request = { ttlMs: 600_000, limits: { memoryBytes: 64 * 1024 ** 2 } }
  const id = (await tell(['create', key], async () => (await server.create(request, key)).id)) ?? ''
  await server.run(id, `echo ${key} >/tmp/key`)
  say('end', 'mark', key, id)
  return id
}

async function fork(id: string): Promise<string> {
  const call = { idempotencyKey: newKey(), signal: NEVER }
  const first = async (): Promise<string> =>
    (await server.plane.copies.fork(caller, id, { count: 1 }, call)).children[0]?.id ?? ''
  return (await tell(['fork', call.idempotencyKey, id], first)) ?? ''
}

/** Two files come from a child, which ends then: both or none. */
async function merge(id: string): Promise<void> {
  const child = await fork(id)
  const key = newKey()
  say('begin', 'write', child)
  await server.run(child, `echo ${key} >/tmp/merged-a; echo ${key} >/tmp/merged-b`)
  await tell(['merge', key, id], async () => {
    const { conflicts } = await server.plane.copies.merge(
      caller,
      id,
      { child, paths: ['/tmp/merged-a', '/tmp/merged-b'] },
      NEVER,
    )
    return conflicts.length === 0 ? 'whole' : 'refused'
  })
  await remove(child)
}

async function snapshot(id: string): Promise<void> {
  const call = { idempotencyKey: newKey(), signal: NEVER }
  const taken = await tell(
    ['snapshot', call.idempotencyKey, id],
    async () => (await server.plane.copies.snapshot(caller, id, {}, call)).id,
  )
  if (taken === null || random() < 0.3) return
  await tell(['drop', taken], async () => {
    await server.plane.snapshots.remove(caller, taken)
    return null
  })
}

async function pause(id: string): Promise<void> {
  // One that sleeps is woken first.
  await server.plane.resume(caller, id)
  await server.plane.pause(caller, id)
}

async function remove(id: string): Promise<void> {
  await tell(['delete', id], async () => {
    await server.plane.delete(caller, id)
    return null
  })
}

async function act(id: string, mine: string[]): Promise<void> {
  const choice = random()
  if (choice < 0.25) await server.run(id, 'echo x >>/tmp/uses')
  else if (choice < 0.35) await pause(id)
  else if (choice < 0.45) await server.plane.resume(caller, id)
  else if (choice < 0.55) await server.plane.sleep.hibernate(caller, id, {})
  else if (choice < 0.6) await server.plane.renew(caller, id, 600_000)
  else if (choice < 0.7) await snapshot(id)
  else if (choice < 0.8) await merge(id)
  else if (choice < 0.88) {
    if (mine.length < SANDBOXES_PER_WORKER) mine.push(await fork(id))
  } else {
    await remove(id)
    mine.splice(mine.indexOf(id), 1)
  }
}

async function work(mine: string[]): Promise<never> {
  for (;;) {
    const room = mine.length < SANDBOXES_PER_WORKER
    const id = mine[Math.floor(random() * mine.length)]
    if (id === undefined || (room && random() < 0.5)) mine.push(await make())
    else await act(id, mine)
  }
}

/** One whose deadline comes when nobody is there to keep it. */
async function makeShort(): Promise<void> {
  const key = newKey()
  await tell(['short', key], async () => (await server.create({ ttlMs: SHORT_MS }, key)).id)
}

const found = Object.keys(await server.states()).filter((id) => !alone.includes(id))
say('ready')
const shares = Array.from({ length: WORKERS }, (_, worker) => found.filter((_id, index) => index % WORKERS === worker))
try {
  await Promise.all([makeShort(), ...shares.map(work)])
} catch (error) {
  // The test that kills it hears why it ended by itself.
  say('failed', HearthError.isInstance(error) ? error.code : '', String(error).replaceAll('\n', ' '))
  throw error
}
