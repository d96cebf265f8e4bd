import type { ApiProcess } from '../../tests/support/api-process.ts'
import type { Measurement } from '../report/row.ts'
import { RawConnection, rawRequest } from './raw-client.ts'

const CONNECTIONS = { get: 16, exec: 8 } as const
const TARGETS = { get: 3000, exec: 250 } as const

/** Requests of a second to a server that has one core, together with everything that it starts. */
export async function measureRequests(server: ApiProcess, quick: boolean): Promise<Measurement[]> {
  await using sandbox = await server.client().create({ rung: 'process', template: 'host' })
  const path = `/v1/sandboxes/${sandbox.id}`
  const keys = await severalKeys(server)
  const requests = {
    get: keys.map((key) => rawRequest('GET', path, key)),
    exec: keys.map((key) => rawRequest('POST', `${path}/exec`, key, { command: ['/bin/true'] })),
  }
  const measurements: Measurement[] = []
  for (const kind of ['get', 'exec'] as const) {
    await rate(server.url, requests[kind], CONNECTIONS[kind], 500)
    const samples: number[] = []
    for (let round = 0; round < (quick ? 1 : 5); round++) {
      samples.push(await rate(server.url, requests[kind], CONNECTIONS[kind], 1500))
    }
    const target = { kind: 'minimum', value: TARGETS[kind] } as const
    const metric = `${kind === 'get' ? 'get' : 'exec of true'}, one core`
    measurements.push({ rung: 'process', metric, unit: 'per second', samples, floors: [], target })
  }
  return measurements
}

/** One key alone is held to its rate. */
async function severalKeys(server: ApiProcess): Promise<string[]> {
  const { keys } = server.client()
  const made = await Promise.all([1, 2, 3, 4].map((number) => keys.create({ name: `bench ${number}` })))
  return made.map(({ key }) => key)
}

async function rate(
  url: string,
  requests: readonly string[],
  connections: number,
  milliseconds: number,
): Promise<number> {
  const started = performance.now()
  let answered = 0
  const work = async (request: string): Promise<void> => {
    using connection = await RawConnection.open(url)
    while (performance.now() - started < milliseconds) {
      await connection.ask(request)
      answered++
    }
  }
  await Promise.all(Array.from({ length: connections }, (_, index) => work(requests[index % requests.length] ?? '')))
  return (answered / (performance.now() - started)) * 1000
}
