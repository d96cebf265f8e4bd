// For tests: one of everything that a path of the API can name.
import { Upstream } from '../../workspaces/testing/upstream.ts'
import type { TestServer } from './test-server.ts'

/** What stands in a path for a resource, by the name of the parameter. `id` is that of a sandbox. */
export type ResourceIds = Readonly<
  Record<'id' | 'run' | 'volume' | 'snapshot' | 'repository' | 'workspace' | 'tenant' | 'name' | 'key' | 'host', string>
>

const RUN_BUDGET = { steps: 1, tokens: 1, dollars: null, wallTimeMs: 1 }

/** One of each, those of the first key; to be disposed of after the server. */
export class EveryResource implements Disposable {
  readonly #upstream = new Upstream()

  async make(server: TestServer, sandbox: string): Promise<ResourceIds> {
    const made = async (path: string, json: object): Promise<string> =>
      (await server.json<{ id: string }>('POST', `/v1${path}`, { json, status: 201 })).id
    const name = `SECRET_${Math.random().toString(36).slice(2, 10).toUpperCase()}`
    const binding = { name: 'api.example.com', placement: { in: 'header', header: 'authorization' } }
    await server.json('PUT', `/v1/secrets/${name}`, { json: { value: 'a-value-of-some-length', binding } })
    const repository = await made('/repositories', { path: this.#upstream.path })
    const begun = { task: 'x', model: 'm', budget: RUN_BUDGET, owner: 'o' }
    const { run } = await server.json<{ run: { id: string } }>('POST', '/v1/runs', { json: begun, status: 201 })
    const host = `${name.toLowerCase().replace('_', '-')}.example.com`
    await server.store.hostKeys.pin(
      (await server.store.tenants.findByName('default'))?.id ?? '',
      host,
      'ssh-ed25519 AAAA',
    )
    return {
      id: sandbox,
      run: run.id,
      volume: await made('/volumes', {}),
      snapshot: await made(`/sandboxes/${sandbox}/snapshots`, {}),
      repository,
      workspace: await made('/workspaces', { repository }),
      tenant: await made('/tenants', { name: name.toLowerCase() }),
      name,
      host,
      key: await made('/keys', { name: 'one of each', scopes: ['exec'] }),
    }
  }

  [Symbol.dispose](): void {
    this.#upstream[Symbol.dispose]()
  }
}
