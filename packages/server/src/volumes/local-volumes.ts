import { createVolumeSchema, parseInput, type CreateVolume, type VolumeView } from '@hearth/contract'
import type { VolumeInfo } from '@hearth/contract'
import type { Caller, KeyedCall, Page, VolumeControl } from '../control-plane.ts'
import type { Context } from '../lifecycle/context.ts'
import type { VolumeRecord } from '../state/index.ts'
import { findVolume, requireOwn, volumeNotFound } from './finding-volumes.ts'
import { makeVolume } from './making-volumes.ts'
import { removeVolume } from './removing-volumes.ts'

/** Each look at a volume is a program that asks the file system. */
const LOOKED_AT_ONCE = 8

/** The volumes of a tenant on this host. */
export class LocalVolumes implements VolumeControl {
  readonly #context: Context
  readonly #requireOpen: () => void

  constructor(context: Context, requireOpen: () => void) {
    this.#context = context
    this.#requireOpen = requireOpen
  }

  async create(caller: Caller, request: CreateVolume, call: KeyedCall): Promise<VolumeView> {
    this.#requireOpen()
    const asked = parseInput(createVolumeSchema, request, 'request')
    return await this.#view(await makeVolume(this.#context, caller.tenantId, asked, call))
  }

  async list(
    caller: Caller,
    query: { readonly limit: number; readonly cursor: string | null },
  ): Promise<Page<VolumeView>> {
    this.#requireOpen()
    const { limit, cursor } = query
    const options = { limit, ...(cursor === null ? {} : { cursor }) }
    const { items: volumes, next } = await this.#context.store.volumes.list(caller.tenantId, options)
    const items: VolumeView[] = []
    for (let begin = 0; begin < volumes.length; begin += LOOKED_AT_ONCE) {
      const some = volumes.slice(begin, begin + LOOKED_AT_ONCE)
      items.push(...(await Promise.all(some.map((record) => this.#view(record)))))
    }
    return { items, next }
  }

  async get(caller: Caller, volume: string): Promise<VolumeView> {
    this.#requireOpen()
    const record = await this.#context.store.volumes.find(caller.tenantId, volume)
    if (record === null) throw volumeNotFound(volume)
    return await this.#view(record)
  }

  async remove(caller: Caller, volume: string): Promise<void> {
    this.#requireOpen()
    const record = await findVolume(this.#context, caller.tenantId, volume)
    requireOwn(record)
    await removeVolume(this.#context, record)
  }

  async #view(record: VolumeRecord): Promise<VolumeView> {
    const here = record.hostId === this.#context.hostId && record.state === 'ready'
    return volumeView(record, here ? await this.#context.hearth.volumes.info(record.id) : null)
  }
}

/** A row as the API shows it, with what its host knows of it. */
function volumeView(record: VolumeRecord, info: VolumeInfo | null): VolumeView {
  const { id, name, lifetime, diskBytes, workspaceId, createdAt } = record
  return {
    id,
    name,
    lifetime,
    diskBytes,
    usedBytes: info?.usedBytes ?? 0,
    workspace: workspaceId,
    sandbox: info?.attachedTo ?? null,
    createdAt: new Date(createdAt).toISOString(),
  }
}
