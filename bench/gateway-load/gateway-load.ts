import { crc32 } from 'node:zlib'
import type { Policy } from '@hearth/contract'
import type { Hearth } from '@hearth/engine'
import { NAME, type BenchServers } from '../gateway/bench-servers.ts'
import { LOAD_CLIENT } from './load-client.ts'

type Sandbox = Awaited<ReturnType<Hearth['create']>>

export interface LoadSize {
  readonly sandboxes: number
  readonly connections: number
  /** Of each of those connections. */
  readonly bytes: number
  readonly downloadBytes: number
  readonly requestSeconds: number
}

/** What a load is made with. */
export interface LoadContext {
  readonly hearth: Hearth
  readonly servers: BenchServers
  readonly size: LoadSize
}

const AT_ONCE = 8
const TIMEOUT_MS = 300_000
/** What the benchmark's servers send. */
const CONTENT = 1

/** The growth of this process while something runs, at its highest. */
export class MemoryWatch implements Disposable {
  readonly #before = process.memoryUsage.rss()
  #highest = this.#before
  readonly #timer = setInterval(() => this.sample(), 50)

  sample(): void {
    this.#highest = Math.max(this.#highest, process.memoryUsage.rss())
  }

  get grownBytes(): number {
    this.sample()
    return this.#highest - this.#before
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }
}

function policyFor({ plain, secure }: BenchServers): Policy {
  const addresses = ['127.0.0.0/8']
  return {
    allow: [
      { name: NAME, ports: [plain], addresses },
      { name: NAME, ports: [secure], methods: ['GET'], addresses },
    ],
  }
}

/** All connections of all sandboxes are open at one time before any is used. Throws when a byte is missing or wrong. */
export async function manySandboxes({
  hearth,
  servers,
  size,
}: LoadContext): Promise<{ grownBytes: number; seconds: number }> {
  const made: Sandbox[] = []
  try {
    for (let at = 0; at < size.sandboxes; at += AT_ONCE) {
      const some = Array.from({ length: Math.min(AT_ONCE, size.sandboxes - at) }, () =>
        hearth.create({ rung: 'process', policy: policyFor(servers), limits: { memoryBytes: 64 * 1024 ** 2 } }),
      )
      made.push(...(await Promise.all(some)))
    }
    using memory = new MemoryWatch()
    const words = ['many', NAME, String(servers.plain), String(size.connections), String(size.bytes)]
    const running = await Promise.all(
      made.map(async (sandbox) => await sandbox.spawn(['python3', '-c', LOAD_CLIENT, ...words])),
    )
    const outputs = running.map((each) => new Output(each.output))
    await Promise.all(outputs.map(async (output) => await output.until('open')))
    const startedAt = performance.now()
    await Promise.all(made.map(async (sandbox) => await sandbox.files.write('/tmp/go', '')))
    const texts = await Promise.all(outputs.map(async (output) => await output.rest()))
    const expected = [size.bytes, crc32(Buffer.alloc(size.bytes, CONTENT))]
    for (const text of texts) {
      const got = JSON.parse(text.split('\n')[1] ?? 'null') as number[][] | null
      const whole =
        got?.length === size.connections &&
        got.every(([bytes, check]) => bytes === expected[0] && check === expected[1])
      if (!whole) throw new Error(`something was lost: ${text}`)
    }
    return { grownBytes: memory.grownBytes, seconds: (performance.now() - startedAt) / 1000 }
  } finally {
    await Promise.all(made.map(async (sandbox) => await sandbox.kill()))
  }
}

/** Reads the output of a program in two steps. */
class Output {
  readonly #iterator: AsyncIterator<{ readonly data: Uint8Array }>
  #text = ''

  constructor(output: AsyncIterable<{ readonly data: Uint8Array }>) {
    this.#iterator = output[Symbol.asyncIterator]()
  }

  async until(word: string): Promise<void> {
    while (!this.#text.includes(word)) {
      const next = await this.#iterator.next()
      if (next.done === true) throw new Error(`it ended: ${this.#text}`)
      this.#text += Buffer.from(next.value.data).toString()
    }
  }

  async rest(): Promise<string> {
    for (;;) {
      const next = await this.#iterator.next()
      if (next.done === true) return this.#text
      this.#text += Buffer.from(next.value.data).toString()
    }
  }
}

/** One large download. Throws when a byte is missing or wrong. */
export async function largeDownload(context: LoadContext): Promise<{ grownBytes: number; megabytesPerSecond: number }> {
  const { hearth, servers, size } = context
  await using sandbox = await hearth.create({ rung: 'process', policy: policyFor(servers) })
  using memory = new MemoryWatch()
  const total = size.downloadBytes
  const result = await run<{ got: number; check: number; seconds: number }>(
    sandbox,
    'download',
    String(servers.plain),
    String(total),
  )
  if (result.got !== total || result.check !== checksum(total))
    throw new Error(`${total - result.got} bytes were lost or changed`)
  return { grownBytes: memory.grownBytes, megabytesPerSecond: total / 1e6 / result.seconds }
}

function checksum(total: number): number {
  const block = Buffer.alloc(1 << 20, CONTENT)
  let check = 0
  for (let left = total; left > 0; left -= block.length)
    check = crc32(block.subarray(0, Math.min(left, block.length)), check)
  return check
}

/** Requests through one name whose TLS is opened. Throws when an answer is missing or wrong. */
export async function manyRequests(context: LoadContext): Promise<{ grownBytes: number; perSecond: number }> {
  const { hearth, servers, size } = context
  await using sandbox = await hearth.create({ rung: 'process', policy: policyFor(servers) })
  using memory = new MemoryWatch()
  const words = [String(servers.secure), String(size.connections), String(size.requestSeconds)]
  const result = await run<{ answered: number; wrong: number; seconds: number }>(sandbox, 'requests', ...words)
  if (result.wrong > 0) throw new Error(`${result.wrong} of ${result.answered} answers were missing or wrong`)
  return { grownBytes: memory.grownBytes, perSecond: result.answered / result.seconds }
}

async function run<T>(sandbox: Sandbox, what: string, ...words: readonly string[]): Promise<T> {
  const command = ['python3', '-c', LOAD_CLIENT, what, NAME, ...words]
  const result = await sandbox.exec(command, { timeoutMs: TIMEOUT_MS })
  if (result.exitCode !== 0) throw new Error(`${what} failed: ${result.stderr}`)
  return JSON.parse(result.stdout) as T
}
