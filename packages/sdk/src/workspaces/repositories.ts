import type { AddRepository, HostKeyView, RepositoryView } from '@hearth/contract'
import { checkedId } from '../checks.ts'
import { allPages, keyedCall } from '../transport/calls.ts'
import type { CallOptions, HttpClient } from '../transport/http-client.ts'
import { dated, type Dated } from './dates.ts'

export type Repository = Dated<RepositoryView, 'createdAt' | 'fetchedAt' | 'usedAt'>

/** A server of git whose key was taken when it was first spoken to with ssh. */
export interface HostKey {
  /** `host`, or `[host]:port`. */
  readonly host: string
  readonly key: string
  readonly pinnedAt: Date
}

/** The repositories that the caller's tenant has made known, each cached once on the host. */
export class Repositories {
  readonly #http: HttpClient

  constructor(http: HttpClient) {
    this.#http = http
  }

  /** Clones it into the cache. One that is known already is given as it is. */
  async add(repository: AddRepository, options: CallOptions = {}): Promise<Repository> {
    const call = { method: 'POST', path: '/repositories', json: repository, signal: options.signal } as const
    return repositoryOf(await this.#http.json<RepositoryView>({ ...call, ...keyedCall(undefined) }))
  }

  /** All, oldest first. */
  async list(options: CallOptions = {}): Promise<Repository[]> {
    const views = await allPages<RepositoryView>(this.#http, '/repositories', options)
    return views.reverse().map(repositoryOf)
  }

  async get(id: string, options: CallOptions = {}): Promise<Repository> {
    const call = { method: 'GET', path: pathOf(id), signal: options.signal } as const
    return repositoryOf(await this.#http.json<RepositoryView>(call))
  }

  /** Brings the cache up to date. */
  async fetch(id: string, options: CallOptions = {}): Promise<Repository> {
    const call = { method: 'POST', path: `${pathOf(id)}/fetch`, signal: options.signal } as const
    return repositoryOf(await this.#http.json<RepositoryView>({ ...call, repeatable: true, timeoutMs: null }))
  }

  /** Refused with `repository_in_use` while there are workspaces of it. */
  async remove(id: string, options: CallOptions = {}): Promise<void> {
    await this.#http.done({ method: 'DELETE', path: pathOf(id), signal: options.signal, timeoutMs: null })
  }

  /** The servers that are spoken to with ssh and were known by no key before. Oldest first. */
  async hostKeys(options: CallOptions = {}): Promise<HostKey[]> {
    const views = await allPages<HostKeyView>(this.#http, '/host-keys', options)
    return views.reverse().map(({ host, key, pinnedAt }) => ({ host, key, pinnedAt: new Date(pinnedAt) }))
  }

  /** The next call takes the key that the server has then. `host` as in the list. */
  async forgetHostKey(host: string, options: CallOptions = {}): Promise<void> {
    await this.#http.done({ method: 'DELETE', path: `/host-keys/${encodeURIComponent(host)}`, signal: options.signal })
  }
}

function pathOf(id: string): string {
  return `/repositories/${checkedId(id)}`
}

function repositoryOf(view: RepositoryView): Repository {
  return dated(view, ['createdAt', 'fetchedAt', 'usedAt'])
}
