import { writeSync } from 'node:fs'
import { TestServer } from '../../packages/server/src/lifecycle/test-server.ts'
import { seededRandom } from './seeded-random.ts'

/**
 * A server under load that is killed by its test. Each line says what a client began or was answered; it is written at once, so
 * that it is there however the process ends. Arguments: the home and a seed.
 */
const [home = '', seed = '0'] = process.argv.slice(2)
const WORKERS = 4
const SANDBOXES_PER_WORKER = 3
const random = seededRandom(Number(seed))
const server = await TestServer.start(home, { spareKeepers: 2 })
const caller = await server.caller()

function say(...words: string[]): void {
  writeSync(1, `${words.join(' ')}\n`)
}

async function make(key: string): Promise<string> {
  say('begin', 'create', key)
  const { id } = await server.create({ ttlMs: 600_000, limits: { memoryBytes: 64 * 1024 ** 2 } }, key)
  say('end', 'create', key, id)
  await server.run(id, `echo ${key} >/tmp/key`)
  say('end', 'mark', key, id)
  return id
}

async function act(id: string): Promise<'kept' | 'gone'> {
  const choice = random()
  if (choice < 0.4) await server.run(id, 'echo x >>/tmp/uses')
  else if (choice < 0.6) await server.plane.pause(caller, id)
  else if (choice < 0.75) await server.plane.resume(caller, id)
  else if (choice < 0.85) await server.plane.renew(caller, id, 600_000)
  else {
    say('begin', 'delete', id)
    await server.plane.delete(caller, id)
    say('end', 'delete', id)
    return 'gone'
  }
  return 'kept'
}

async function work(worker: number, mine: string[]): Promise<never> {
  for (let turn = 0; ; turn++) {
    const room = mine.length < SANDBOXES_PER_WORKER
    const id = mine[Math.floor(random() * mine.length)]
    if (id === undefined || (room && random() < 0.5)) mine.push(await make(`${seed}-${worker}-${turn}`))
    else if ((await act(id)) === 'gone') mine.splice(mine.indexOf(id), 1)
  }
}

const found = Object.keys(await server.states())
say('ready')
await Promise.all(
  Array.from({ length: WORKERS }, (_, worker) =>
    work(
      worker,
      found.filter((_id, index) => index % WORKERS === worker),
    ),
  ),
)
