import type { SnapshotInfo, SnapshotView } from '@hearth/contract'
import { upload } from '../files/upload.ts'
import { HearthError } from '../hearth-error.ts'
import { allPages } from '../transport/calls.ts'
import type { CallOptions, HttpClient } from '../transport/http-client.ts'
import { snapshotInfo } from './snapshot-views.ts'

/** The snapshots of the caller's tenant, each by its identifier or its name. */
export class Snapshots {
  readonly #http: HttpClient

  constructor(http: HttpClient) {
    this.#http = http
  }

  /** All, oldest first. */
  async list(options: CallOptions = {}): Promise<SnapshotInfo[]> {
    return (await allPages<SnapshotView>(this.#http, '/snapshots', options)).reverse().map(snapshotInfo)
  }

  async get(snapshot: string, options: CallOptions = {}): Promise<SnapshotInfo> {
    const call = { method: 'GET', path: pathOf(snapshot), signal: options.signal } as const
    return snapshotInfo(await this.#http.json<SnapshotView>(call))
  }

  /** Refused with `snapshot_in_use` while a sandbox that was made of it lives. */
  async remove(snapshot: string, options: CallOptions = {}): Promise<void> {
    await this.#http.done({ method: 'DELETE', path: pathOf(snapshot), signal: options.signal })
  }

  /** All of it but its template, as the bytes of one file. */
  async export(snapshot: string, options: CallOptions = {}): Promise<AsyncIterable<Uint8Array>> {
    const headers = { accept: 'application/octet-stream' }
    const call = { method: 'GET', path: `${pathOf(snapshot)}/export`, headers, signal: options.signal } as const
    return (await this.#http.send(call)).chunks()
  }

  /** What `export` gave, here or on another host, as a new snapshot. Refused with `snapshot_corrupt` when anything of it is not as it was. */
  async import(
    source: Uint8Array | AsyncIterable<Uint8Array>,
    options: { readonly name?: string } & CallOptions = {},
  ): Promise<SnapshotInfo> {
    const { name, signal } = options
    const call = { method: 'POST', path: '/snapshots/import', query: { name }, signal, timeoutMs: null } as const
    const answer = await upload(this.#http, call, source)
    return snapshotInfo((await answer.json()) as SnapshotView)
  }
}

/** Identifiers and names have letters, digits, dots, `_` and `-` alone; a dot is never first, so that no path leads elsewhere. */
function pathOf(snapshot: unknown): string {
  if (typeof snapshot === 'string' && /^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,127}$/.test(snapshot)) {
    return `/snapshots/${snapshot}`
  }
  throw new HearthError('invalid_request', 'snapshot: must be an identifier or a name', {
    context: { field: 'snapshot' },
  })
}
