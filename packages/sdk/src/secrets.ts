import type { SecretBinding, SecretView } from '@hearth/contract'
import { HearthError } from './hearth-error.ts'
import { allPages } from './transport/calls.ts'
import type { CallOptions, HttpClient } from './transport/http-client.ts'

/** All that a server tells of a secret: never its value. */
export interface StoredSecret {
  readonly name: string
  readonly binding: SecretBinding
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** The secrets of the caller's tenant. A sandbox that uses one has a placeholder; the gateway puts the value in where its binding says. */
export class Secrets {
  readonly #http: HttpClient

  constructor(http: HttpClient) {
    this.#http = http
  }

  /** Stores it, or replaces the one of that name. Sandboxes that run keep the value that they began with. */
  async set(
    name: string,
    secret: { readonly value: string; readonly binding: SecretBinding },
    options: CallOptions = {},
  ): Promise<StoredSecret> {
    const { value, binding } = secret
    const call = { method: 'PUT', path: pathOf(name), json: { value, binding }, signal: options.signal } as const
    return storedSecret(await this.#http.json<SecretView>({ ...call, repeatable: true }))
  }

  /** All, by name. */
  async list(options: CallOptions = {}): Promise<StoredSecret[]> {
    return (await allPages<SecretView>(this.#http, '/secrets', options)).map(storedSecret)
  }

  async get(name: string, options: CallOptions = {}): Promise<StoredSecret> {
    const call = { method: 'GET', path: pathOf(name), signal: options.signal } as const
    return storedSecret(await this.#http.json<SecretView>(call))
  }

  async remove(name: string, options: CallOptions = {}): Promise<void> {
    await this.#http.done({ method: 'DELETE', path: pathOf(name), signal: options.signal })
  }
}

function pathOf(name: unknown): string {
  if (typeof name === 'string' && /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/.test(name)) return `/secrets/${name}`
  throw new HearthError(
    'invalid_request',
    'name: must be letters, digits, dashes and underscores, and begin with a letter',
    {
      context: { field: 'name' },
    },
  )
}

function storedSecret({ name, binding, createdAt, updatedAt }: SecretView): StoredSecret {
  return { name, binding, createdAt: new Date(createdAt), updatedAt: new Date(updatedAt) }
}
