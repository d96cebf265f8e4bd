import type { PortSpec } from '../options/port-spec.ts'
import { invocation } from '../output/invocation.ts'
import { presentOne } from '../output/present.ts'
import { table } from '../output/table.ts'
import { formatUntil } from '../output/time.ts'
import { findSandbox } from '../server/find-sandbox.ts'
import { withServer, type ServerOptions } from '../server/with-server.ts'
import { forwardPort } from './forward-port.ts'

export interface PortOptions extends ServerOptions {
  readonly ttl?: number
  /** How long to wait until something listens, in milliseconds. */
  readonly wait?: number
  /** A link that is a path of the server, not a host name of its own. */
  readonly path?: boolean
}

/** Where a port of a sandbox answers: an address for a browser, one for programs with a key, and a port of this machine when one is asked for. */
export async function port(name: string, spec: PortSpec, options: PortOptions): Promise<number> {
  return await withServer(options, async (hearth) => {
    const sandbox = await findSandbox(hearth, name)
    const inside = sandbox.port(spec.port)
    if (options.wait !== undefined) await inside.ready({ timeoutMs: options.wait })
    if (spec.local !== null) return await forwardPort(sandbox, spec.port, spec.local, options)
    const link = await inside.link({
      ...(options.ttl === undefined ? {} : { ttlMs: options.ttl }),
      ...(options.path === true ? { form: 'path' } : {}),
    })
    const { url, expiresAt } = link
    const people = (): string =>
      table([
        ['link', `for a browser, needs no key, ends ${formatUntil(expiresAt)}`, url],
        ['url', 'for programs that send the key', inside.url],
        ['local', 'makes it a port of this machine', `${invocation()} port ${sandbox.id} ${spec.port}:${spec.port}`],
      ])
    const json = { sandbox: sandbox.id, port: spec.port, url: inside.url, link: url, expiresAt }
    await presentOne(options, { id: url, json, people })
    return 0
  })
}
