import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { afterEach, describe, expect, it } from 'vitest'
import type { StoredEvent } from '../state/index.ts'
import { OtlpExporter, otlpFromEnvironment } from './otlp-exporter.ts'

interface LogRecord {
  timeUnixNano: string
  severityNumber: number
  eventName: string
  body: { stringValue: string }
  attributes: { key: string; value: Record<string, unknown> }[]
}
interface Logs {
  resourceLogs: {
    resource: { attributes: LogRecord['attributes'] }
    scopeLogs: { scope: { name: string }; logRecords: LogRecord[] }[]
  }[]
}

/** A collector on loopback that parses what it gets. */
class Collector implements AsyncDisposable {
  readonly records: LogRecord[] = []
  readonly services = new Set<unknown>()
  readonly requests: { path: string | undefined; token: string | string[] | undefined }[] = []
  /** Answers for the next requests; then 200. */
  answers: number[] = []
  readonly #server = createServer((incoming, outgoing) => {
    void this.#take(incoming).then((status) => outgoing.writeHead(status).end('{}'))
  })

  async #take(incoming: IncomingMessage): Promise<number> {
    const body = (await json(incoming)) as Logs
    this.requests.push({ path: incoming.url, token: incoming.headers['x-token'] })
    const status = this.answers.shift() ?? 200
    if (status !== 200) return status
    for (const { resource, scopeLogs } of body.resourceLogs) {
      this.services.add(resource.attributes.find(({ key }) => key === 'service.name')?.value['stringValue'])
      for (const { logRecords } of scopeLogs) this.records.push(...logRecords)
    }
    return status
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

const event = (seq: number, type = 'network.request', data: Record<string, unknown> = {}): StoredEvent => ({
  seq,
  type,
  data,
  at: 1_750_000_000_123,
  tenantId: 'tn_a',
  sandboxId: 'sb_a',
  hash: 'ff',
})

describe('the record through OpenTelemetry', () => {
  const problems: string[] = []
  afterEach(() => problems.splice(0))
  const onProblem = (_: string, error: unknown): void => void problems.push(String(error))

  it('arrives as log records with their facts as attributes', async () => {
    await using collector = new Collector()
    const options = otlpFromEnvironment({
      OTEL_EXPORTER_OTLP_ENDPOINT: `${await collector.listen()}/`,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-token=a%20b, x-other=1',
      OTEL_SERVICE_NAME: 'mine',
    })
    if (options === null) throw new Error('the environment asks for it')
    const exporter = new OtlpExporter({ ...options, onProblem, delayMs: 1 })
    exporter.take([
      event(1, 'network.request', { name: 'a.test', port: 443, named: true, ratio: 0.5, secrets: ['K'], gone: null }),
    ])
    exporter.take([event(2, 'network.refused')])
    await exporter.close()
    expect(collector.requests[0]).toEqual({ path: '/v1/logs', token: 'a b' })
    expect([...collector.services]).toEqual(['mine'])
    const [first, second] = collector.records
    expect(first).toMatchObject({
      timeUnixNano: '1750000000123000000',
      severityNumber: 9,
      eventName: 'hearth.network.request',
      body: { stringValue: 'network.request' },
    })
    expect(Object.fromEntries((first?.attributes ?? []).map(({ key, value }) => [key, value]))).toEqual({
      'hearth.seq': { intValue: '1' },
      'hearth.tenant': { stringValue: 'tn_a' },
      'hearth.sandbox': { stringValue: 'sb_a' },
      'hearth.hash': { stringValue: 'ff' },
      'hearth.name': { stringValue: 'a.test' },
      'hearth.port': { intValue: '443' },
      'hearth.named': { boolValue: true },
      'hearth.ratio': { doubleValue: 0.5 },
      'hearth.secrets': { stringValue: '["K"]' },
    })
    expect(second?.severityNumber).toBe(13)
    expect(problems).toEqual([])
  })

  it('is sent again until the collector takes it, each once', async () => {
    await using collector = new Collector()
    const url = await collector.listen()
    collector.answers = [503, 429, 503]
    const exporter = new OtlpExporter({ url, onProblem, delayMs: 1, retryMs: 1 })
    exporter.take(Array.from({ length: 1200 }, (_, index) => event(index)))
    await expect.poll(() => collector.records.length, { timeout: 10_000 }).toBe(1200)
    await exporter.close()
    expect(problems).toHaveLength(3)
  })

  it('waits for nobody: what does not fit is counted, and so is what is refused for good', async () => {
    await using collector = new Collector()
    const url = await collector.listen()
    collector.answers = [400]
    const exporter = new OtlpExporter({ url, onProblem, delayMs: 1, queue: 10 })
    exporter.take(Array.from({ length: 25 }, (_, index) => event(index)))
    await expect.poll(() => problems.at(-1), { timeout: 10_000 }).toContain('25 events were not exported')
    exporter.take([event(30)])
    await exporter.close()
    // The next that the collector takes tells it what it has not.
    expect(collector.records).toMatchObject([
      { eventName: 'hearth.network.request' },
      { eventName: 'hearth.export.dropped' },
    ])
    expect(collector.records[1]?.attributes).toContainEqual({ key: 'hearth.count', value: { intValue: '25' } })
    // Nobody listens there, and the end of a server does not wait for long.
    const nowhere = new OtlpExporter({ url: 'http://127.0.0.1:1/v1/logs', onProblem, delayMs: 1 })
    nowhere.take([event(1)])
    await nowhere.close()
    expect(problems.at(-1)).toContain('1 events were not exported')
  })

  it('is nothing where nobody asks for it, and refuses what is no address', () => {
    expect(otlpFromEnvironment({})).toBeNull()
    expect(() => otlpFromEnvironment({ OTEL_EXPORTER_OTLP_ENDPOINT: 'localhost:4318' })).toThrow('address')
  })
})
