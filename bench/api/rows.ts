import { join } from 'node:path'
import { DEFAULT_LIMITS } from '@hearth/contract'
import { openStore } from '@hearth/server/state'
import type { ApiProcess } from '../../tests/support/api-process.ts'
import { timed } from '../context.ts'
import type { Measurement, Target } from '../report/row.ts'
import { RawConnection, rawRequest } from './raw-client.ts'

const ROWS = 1000
const RUNNING = 100
const LISTS = 30
const LIST_TARGET: Target = { kind: 'maximum', value: 20 }
const READY_TARGET: Target = { kind: 'maximum', value: 2000 }
const ANSWER_TARGET: Target = { kind: 'maximum', value: 1000 }

/** The cost of a thousand rows, a hundred of which have a machine: on a list, and on the start of a server that was killed. */
export async function measureRows(server: ApiProcess, rounds: number): Promise<Measurement[]> {
  const ids = await fill(server)
  const list = await lists(server)
  const ready: number[] = []
  const answers: number[] = []
  for (let round = 0; round < rounds; round++) {
    await server.kill('SIGKILL')
    ready.push(await timed(() => server.start()))
    answers.push(await timed(() => Promise.all(ids.map((id) => answered(server, id)))))
  }
  const rung = 'process' as const
  return [
    { rung, metric: `list of ${ROWS}`, unit: 'ms', samples: list, floors: [], target: LIST_TARGET },
    { rung, metric: `start with ${ROWS} rows`, unit: 'ms', samples: ready, floors: [], target: READY_TARGET },
    {
      rung,
      metric: `all ${RUNNING} running answer after the start`,
      unit: 'ms',
      samples: answers,
      floors: [],
      target: ANSWER_TARGET,
    },
  ]
}

/** Those that run are made as a client makes them; the others are rows of sandboxes that have ended. */
async function fill(server: ApiProcess): Promise<string[]> {
  const client = server.client()
  const store = await openStore({ url: `sqlite:${join(server.home, 'hearth.db')}` })
  try {
    const [tenant] = (await store.tenants.list()).items
    const [host] = await store.hosts.list()
    if (tenant === undefined || host === undefined) throw new Error('the server has neither tenant nor host')
    await store.tenants.setQuotas(tenant.id, {
      sandboxes: 2 * ROWS,
      cpus: 2 * ROWS,
      memoryBytes: 2 ** 50,
      diskBytes: 2 ** 52,
    })
    const ids: string[] = []
    const limits = { memoryBytes: 64 * 1024 ** 2 }
    const make = async (): Promise<void> => {
      while (ids.length < RUNNING) {
        const index = ids.push('') - 1
        ids[index] = (await client.create({ rung: 'process', template: 'host', limits, ttlMs: 1_800_000 })).id
      }
    }
    await Promise.all(Array.from({ length: 8 }, make))
    for (let row = RUNNING; row < ROWS; row++) {
      await store.transaction(async ({ sandboxes }) => {
        const creating = await sandboxes.insert({
          tenantId: tenant.id,
          hostId: host.id,
          rung: 'process',
          driver: 'bubblewrap',
          template: 'host',
          spec: { rung: 'process' },
          limits: DEFAULT_LIMITS,
          metadata: { user: `user-${row % 20}` },
          expiresAt: Date.now() + 1_800_000,
        })
        const running = await sandboxes.transition(creating, 'running')
        await sandboxes.transition(running, 'stopped', { endedAt: Date.now(), endReason: 'bench' })
      })
    }
    return ids
  } finally {
    await store.close()
  }
}

async function lists(server: ApiProcess): Promise<number[]> {
  using connection = await RawConnection.open(server.url)
  const request = rawRequest('GET', `/v1/sandboxes?limit=${ROWS}`, server.key)
  const samples: number[] = []
  for (let round = -3; round < LISTS; round++) {
    let body: Buffer = Buffer.alloc(0)
    const elapsed = await timed(async () => {
      body = await connection.ask(request)
    })
    const { items } = JSON.parse(body.toString()) as { items: unknown[] }
    if (items.length !== ROWS) throw new Error(`listed ${items.length} of ${ROWS}`)
    if (round >= 0) samples.push(elapsed)
  }
  return samples
}

async function answered(server: ApiProcess, id: string): Promise<void> {
  using connection = await RawConnection.open(server.url)
  const body = await connection.ask(
    rawRequest('POST', `/v1/sandboxes/${id}/exec`, server.key, { command: ['/bin/true'] }),
  )
  const { exitCode } = JSON.parse(body.toString()) as { exitCode: number }
  if (exitCode !== 0) throw new Error(`${id} answered ${exitCode}`)
}
