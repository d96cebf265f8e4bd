// For tests: calls that a program in a sandbox makes to the server that it lives in.
import { OWN_HEARTH_NAME, type ExecResult } from '@hearth/contract'
import type { TestServer } from './test-server.ts'

export interface InsideCall {
  readonly json?: unknown
  /** Default: what is in the environment. Null for none. */
  readonly key?: string | null
  readonly headers?: readonly string[]
}

export interface InsideAnswer {
  /** 0 when there was no answer at all. */
  readonly status: number
  /** What is left of the answer when it is no error. */
  readonly body: unknown
  readonly code: string | null
  /** The fields of a grant that it would exceed. */
  readonly exceeded: readonly string[]
}

type ErrorBody = { readonly code: string; readonly context?: { readonly exceeded?: readonly { field: string }[] } }

/** The programs of one sandbox. */
export class Inside {
  readonly #server: TestServer
  readonly id: string

  constructor(server: TestServer, id: string) {
    this.#server = server
    this.id = id
  }

  async run(command: string, options: object = {}): Promise<ExecResult> {
    const json = { command, timeoutMs: 60_000, ...options }
    return await this.#server.json<ExecResult>('POST', `/v1/sandboxes/${this.id}/exec`, { json })
  }

  /** The command of a call with curl. */
  command(method: string, path: string, { json, key, headers = [] }: InsideCall = {}): string {
    const authorization = key === null ? [] : [`authorization: Bearer ${key ?? '$HEARTH_API_KEY'}`]
    const type = json === undefined ? [] : ['content-type: application/json']
    const sent = [...authorization, ...type, ...headers].map((header) => `-H "${header}"`).join(' ')
    const body = json === undefined ? '' : ` --data-raw '${JSON.stringify(json)}'`
    return `curl -s -m 30 -X ${method} ${sent}${body} -w '\\n%{http_code}' "$HEARTH_URL${path}"`
  }

  async call(method: string, path: string, options: InsideCall = {}): Promise<InsideAnswer> {
    return parseAnswer((await this.run(this.command(method, path, options))).stdout)
  }

  /** Sends bytes as they are, and gives all that comes back within a moment. */
  async send(bytes: string): Promise<string> {
    const program = `import socket,sys
s=socket.create_connection(("${OWN_HEARTH_NAME}",80),5); s.settimeout(3)
try:
    s.sendall(bytes.fromhex("${Buffer.from(bytes, 'latin1').toString('hex')}")); s.shutdown(socket.SHUT_WR)
    while True:
        got=s.recv(65536)
        if not got: break
        sys.stdout.write(got.decode("latin1"))
except (TimeoutError, ConnectionError): pass`
    return (await this.run(`python3 -c '${program}'`)).stdout
  }
}

export function parseAnswer(text: string): InsideAnswer {
  const at = text.lastIndexOf('\n')
  const content = text.slice(0, Math.max(at, 0))
  const body = content === '' ? null : (JSON.parse(content) as { readonly error?: ErrorBody })
  const error = body?.error
  const exceeded = (error?.context?.exceeded ?? []).map(({ field }) => field)
  return { status: Number(text.slice(at + 1)), body, code: error?.code ?? null, exceeded }
}
