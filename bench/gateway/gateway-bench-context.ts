import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Policy } from '@hearth/contract'
import type { EmbeddedSandbox } from '@hearth/engine'
import type { BenchContext } from '../context.ts'
import { NAME, type BenchServers } from './bench-servers.ts'
import { CLIENT_PROGRAM } from './client-program.ts'
import type { ConnectProxy } from './connect-proxy.ts'

/** Of the same server; what is said to this name passes unopened. */
export const PASSED = 'passed.example'
/** Bound to the name of the benchmark's servers. */
export const SECRET = 'BENCH_TOKEN'

/** What the rows of the gateway are measured with. */
export interface GatewayBenchContext extends BenchContext {
  readonly servers: BenchServers
  /** Null where it is not installed. */
  readonly proxy: ConnectProxy | null
  readonly heavy: boolean
}

/** The words of the client, for the place from which it asks. */
export type Words = (place: { readonly verify: string; readonly proxy: string }) => readonly string[]

export function policyFor({ plain, secure }: BenchServers): Policy {
  const addresses = ['127.0.0.0/8']
  return {
    allow: [
      { name: NAME, ports: [plain], addresses },
      { name: NAME, ports: [secure], methods: ['GET'], addresses },
      { name: PASSED, ports: [secure], addresses },
    ],
  }
}

export async function createFor(
  context: GatewayBenchContext,
  secrets: readonly string[] = [],
): Promise<EmbeddedSandbox> {
  const template = context.capabilities.hostTemplate ? {} : { template: 'code-interpreter' }
  const uses = secrets.map((secret) => ({ secret }))
  return await context.create({ policy: policyFor(context.servers), secrets: uses, ...template })
}

export async function inSandbox(sandbox: EmbeddedSandbox, words: readonly string[]): Promise<number[]> {
  const result = await sandbox.exec(['python3', '-c', CLIENT_PROGRAM, ...words], { timeoutMs: 300_000 })
  if (result.exitCode !== 0) throw new Error(result.stderr)
  return JSON.parse(result.stdout) as number[]
}

export async function onHost(words: readonly string[]): Promise<number[]> {
  const direct = words.map((word) => (word === NAME || word === PASSED ? '127.0.0.1' : word))
  const { stdout } = await promisify(execFile)('python3', ['-c', CLIENT_PROGRAM, ...direct])
  return JSON.parse(stdout) as number[]
}

export interface Batches {
  readonly samples: number[]
  readonly floors: { readonly name: string; readonly samples: number[] }[]
}

/** Batches of samples from the sandbox in turn with the same on the host, through a plain proxy where there is one and directly. */
export async function besideHost(
  sandbox: EmbeddedSandbox,
  { proxy }: GatewayBenchContext,
  rounds: number,
  words: Words,
  verify: 'yes' | 'no',
): Promise<Batches> {
  const ways = [
    ...(proxy === null ? [] : [{ name: 'tinyproxy, on the host', proxy: String(proxy.port) }]),
    { name: 'direct, on the host', proxy: 'no' },
  ]
  const floors = ways.map(({ name }) => ({ name, samples: [] as number[] }))
  const samples: number[] = []
  for (let round = 0; round < rounds; round++) {
    for (const [index, way] of ways.entries())
      floors[index]?.samples.push(...(await onHost(words({ verify: 'no', proxy: way.proxy }))))
    samples.push(...(await inSandbox(sandbox, words({ verify, proxy: 'no' }))))
  }
  return { samples, floors }
}
