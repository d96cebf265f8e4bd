import type { CreateVolume, VolumeView } from '@hearth/contract'
import { HearthError } from '../hearth-error.ts'
import { allPages, keyedCall } from '../transport/calls.ts'
import type { CallOptions, HttpClient } from '../transport/http-client.ts'
import { dated, type Dated } from './dates.ts'

export type Volume = Dated<VolumeView, 'createdAt'>

/** Durable directories that sandboxes have at a path of theirs, each by its identifier or its name. One sandbox at a time writes to one. */
export class Volumes {
  readonly #http: HttpClient

  constructor(http: HttpClient) {
    this.#http = http
  }

  /** An empty one. */
  async create(volume: CreateVolume = {}, options: CallOptions = {}): Promise<Volume> {
    const call = { method: 'POST', path: '/volumes', json: volume, signal: options.signal } as const
    return volumeOf(await this.#http.json<VolumeView>({ ...call, ...keyedCall(undefined) }))
  }

  /** All, oldest first, also those of workspaces. */
  async list(options: CallOptions = {}): Promise<Volume[]> {
    return (await allPages<VolumeView>(this.#http, '/volumes', options)).reverse().map(volumeOf)
  }

  async get(volume: string, options: CallOptions = {}): Promise<Volume> {
    const call = { method: 'GET', path: pathOf(volume), signal: options.signal } as const
    return volumeOf(await this.#http.json<VolumeView>(call))
  }

  /** With all that is in it. Refused with `volume_in_use` while a sandbox has it. */
  async remove(volume: string, options: CallOptions = {}): Promise<void> {
    await this.#http.done({ method: 'DELETE', path: pathOf(volume), signal: options.signal, timeoutMs: null })
  }
}

/** As for snapshots: no path leads elsewhere. */
function pathOf(volume: unknown): string {
  if (typeof volume === 'string' && /^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,127}$/.test(volume)) return `/volumes/${volume}`
  throw new HearthError('invalid_request', 'volume: must be an identifier or a name', { context: { field: 'volume' } })
}

function volumeOf(view: VolumeView): Volume {
  return dated(view, ['createdAt'])
}
