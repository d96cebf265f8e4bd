import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server as TcpServer, type Socket } from 'node:net'
import type { Policy, RecordEntry, Secret } from '@hearth/contract'
import { CompiledPolicy } from '../policy/compiled-policy.ts'
import { SandboxSecrets } from '../secrets/sandbox-secrets.ts'
import { CertificateAuthority } from '../tls/authority.ts'
import { HTTP_LIMITS, type HttpLimits } from './limits.ts'
import { RunningRequests } from './running-requests.ts'
import { serveInspected } from './serve-inspected.ts'

export interface TestGatewayOptions {
  readonly name: string
  /** Where the server that stands for the name listens. */
  readonly upstreamPort: number
  readonly upstreamRoot: string
  readonly secure?: boolean
  readonly policy?: (port: number) => Policy
  readonly secrets?: readonly Secret[]
  readonly limits?: Partial<HttpLimits>
  /** Instead of keeping the entries. */
  readonly record?: (entry: RecordEntry) => void
}

/** A gateway for one name, on a port of the loopback: every connection to it is an inspected one. */
export interface TestGateway {
  readonly port: number
  readonly entries: RecordEntry[]
  readonly secrets: SandboxSecrets
  readonly root: string
  /** What `serveInspected` said of each connection. */
  readonly outcomes: (string | null)[]
  readonly problems: string[]
  readonly abort: AbortController
  /** As the gateway of a sandbox does it for each of its connections. */
  setPolicy(policy: Policy): void
  close(): void
}

export async function startGateway(options: TestGatewayOptions): Promise<TestGateway> {
  const { name, upstreamPort, upstreamRoot, secure = true, limits = {} } = options
  const authority = await CertificateAuthority.create()
  const secrets = new SandboxSecrets(options.secrets ?? [])
  const entries: RecordEntry[] = []
  const outcomes: (string | null)[] = []
  const problems: string[] = []
  const abort = new AbortController()
  const running = new RunningRequests()
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (stream) => {
    void serveInspected(
      {
        name,
        port,
        process: 7,
        stream,
        secure,
        policy: () => policy,
        secrets,
        authority,
        running,
        recorder: { add: options.record ?? ((entry) => entries.push(entry)) },
        onProblem: (what, error) => problems.push(`${what}: ${String(error)}`),
        dial: () => dial(upstreamPort),
        extraRoots: [upstreamRoot],
        signal: abort.signal,
      },
      { ...HTTP_LIMITS, ...limits },
    ).then((outcome) => outcomes.push(outcome))
  }).listen(0, '127.0.0.1')
  const port = await listening(server)
  let policy = new CompiledPolicy(options.policy?.(port) ?? { allow: [{ name, ports: [port] }] })
  const close = (): void => {
    abort.abort()
    server.close()
  }
  const setPolicy = (changed: Policy): void => {
    policy = new CompiledPolicy(changed)
    running.judge((method, target) => policy.request(name, port, method, target))
  }
  return { port, entries, secrets, root: authority.certificate, outcomes, problems, abort, setPolicy, close }
}

async function dial(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true })
  await once(socket, 'connect')
  return socket
}

export async function listening(server: TcpServer): Promise<number> {
  if (!server.listening) await once(server, 'listening')
  return (server.address() as AddressInfo).port
}
