import { Readable } from 'node:stream'
import type { ApiProcess } from '../../tests/support/api-process.ts'
import { timed } from '../context.ts'
import type { Measurement, Target } from '../report/row.ts'
import { receive, send, type HttpCall } from './http-calls.ts'

const CREATE_TARGET: Target = { kind: 'added', value: 3 }
const EXEC_TARGET: Target = { kind: 'added', value: 2 }
const FILE_TARGET: Target = { kind: 'ratio', value: 1.25 }
const FILE_MB = 100
const WARM_UP = 20

/** One server under both of its names. */
export class BothApis {
  readonly #server: ApiProcess

  constructor(server: ApiProcess) {
    this.#server = server
  }

  native(method: string, path: string, body?: HttpCall['body']): HttpCall {
    const headers = { authorization: `Bearer ${this.#server.key}`, 'content-type': 'application/json' }
    return { method, url: `${this.#server.url}/v1${path}`, headers, ...(body === undefined ? {} : { body }) }
  }

  e2b(method: string, path: string, body?: HttpCall['body']): HttpCall {
    const headers = { 'x-api-key': this.#server.key, 'content-type': 'application/json' }
    return { method, url: `${this.#server.dialectUrl}${path}`, headers, ...(body === undefined ? {} : { body }) }
  }

  /** Into the sandbox, as E2B's clients do without name resolution. */
  envd(id: string, token: string, method: string, path: string, type: string, body?: HttpCall['body']): HttpCall {
    const named = { 'e2b-sandbox-id': id, 'e2b-sandbox-port': '49983' }
    const call = this.e2b(method, path, body)
    return { ...call, headers: { ...named, 'x-access-token': token, 'content-type': type } }
  }

  async create(): Promise<{ readonly id: string; readonly token: string }> {
    const metadata = { 'hearth.rung': 'process' }
    const body = JSON.stringify({ templateID: 'host', metadata })
    const made = await send(this.e2b('POST', '/v2/sandboxes', body))
    const { sandboxID, envdAccessToken } = JSON.parse(made.toString()) as Record<string, string>
    return { id: sandboxID ?? '', token: envdAccessToken ?? '' }
  }

  async createNative(): Promise<string> {
    const body = JSON.stringify({ rung: 'process', template: 'host', ttlMs: 300_000 })
    const made = await send(this.native('POST', '/sandboxes', body))
    return (JSON.parse(made.toString()) as { id: string }).id
  }
}

/** Creates in turn, by one API and by the other. */
export async function measureDialectCreate(apis: BothApis, rounds: number): Promise<Measurement> {
  const samples = { native: [] as number[], e2b: [] as number[] }
  for (let round = -WARM_UP; round < rounds; round++) {
    let id = ''
    const native = await timed(async () => void (id = await apis.createNative()))
    await send(apis.native('DELETE', `/sandboxes/${id}`))
    const e2b = await timed(async () => void (id = (await apis.create()).id))
    await send(apis.e2b('DELETE', `/sandboxes/${id}`))
    if (round < 0) continue
    samples.native.push(native)
    samples.e2b.push(e2b)
  }
  return row('create by E2B', 'ms', samples, CREATE_TARGET)
}

/** `true` in turn: one answer there, a stream from its start to its end here. */
export async function measureDialectExec(apis: BothApis, rounds: number): Promise<Measurement> {
  const { id, token } = await apis.create()
  const native = apis.native('POST', `/sandboxes/${nativeId(id)}/exec`, JSON.stringify({ command: ['/bin/true'] }))
  const request = Buffer.from(JSON.stringify({ process: { cmd: '/bin/true', args: [] }, stdin: false }))
  const header = Buffer.alloc(5)
  header.writeUInt32BE(request.length, 1)
  const body = Buffer.concat([header, request])
  const e2b = apis.envd(id, token, 'POST', '/process.Process/Start', 'application/connect+json', body)
  const samples = { native: [] as number[], e2b: [] as number[] }
  for (let round = -WARM_UP; round < rounds; round++) {
    const floor = await timed(() => send(native))
    const elapsed = await timed(() => send(e2b))
    if (round < 0) continue
    samples.native.push(floor)
    samples.e2b.push(elapsed)
  }
  await send(apis.e2b('DELETE', `/sandboxes/${id}`))
  return row('exec of true by E2B, its stream', 'ms', samples, EXEC_TARGET)
}

/** A file of 100 MB in and out, in turn. */
export async function measureDialectFiles(apis: BothApis, rounds: number): Promise<Measurement[]> {
  const { id, token } = await apis.create()
  const chunk = Buffer.alloc(1024 * 1024, 'x')
  const content = (): Readable => Readable.from(Array.from({ length: FILE_MB }, () => chunk))
  const path = encodeURIComponent('/tmp/file')
  const native = `/sandboxes/${nativeId(id)}/files?path=${path}`
  const bytes = 'application/octet-stream'
  const samples = {
    in: { native: [] as number[], e2b: [] as number[] },
    out: { native: [] as number[], e2b: [] as number[] },
  }
  for (let round = -1; round < rounds; round++) {
    const writes = {
      native: await timed(() => send(apis.native('PUT', native, content))),
      e2b: await timed(() => send(apis.envd(id, token, 'POST', `/files?path=${path}`, bytes, content))),
    }
    const reads = {
      native: await timed(() => whole(apis.native('GET', native))),
      e2b: await timed(() => whole(apis.envd(id, token, 'GET', `/files?path=${path}`, bytes))),
    }
    if (round < 0) continue
    for (const api of ['native', 'e2b'] as const) {
      samples.in[api].push(writes[api] / FILE_MB)
      samples.out[api].push(reads[api] / FILE_MB)
    }
  }
  await send(apis.e2b('DELETE', `/sandboxes/${id}`))
  return [
    row(`file of ${FILE_MB} MB in by E2B`, 'ms/MB', samples.in, FILE_TARGET),
    row(`file of ${FILE_MB} MB out by E2B`, 'ms/MB', samples.out, FILE_TARGET),
  ]
}

async function whole(call: HttpCall): Promise<void> {
  const length = await receive(call)
  if (length !== FILE_MB * 1024 * 1024) throw new Error(`read ${length} bytes of the file`)
}

function row(
  metric: string,
  unit: Measurement['unit'],
  samples: { readonly native: readonly number[]; readonly e2b: readonly number[] },
  target: Target,
): Measurement {
  return {
    rung: 'process',
    metric,
    unit,
    samples: samples.e2b,
    floors: [{ name: 'native', samples: samples.native }],
    target,
  }
}

function nativeId(id: string): string {
  return id.replace(/^sb/, 'sb_')
}
