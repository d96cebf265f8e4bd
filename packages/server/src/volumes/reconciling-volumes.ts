import { HearthError, type VolumeId } from '@hearth/contract'
import type { Context } from '../lifecycle/context.ts'
import type { VolumeRecord } from '../state/index.ts'

/** Compares the rows of volumes with the store of this host, both ways. */
export class VolumeReconciliation {
  readonly #context: Context
  readonly #orphanMs: number
  /** Volumes that no row tells of, and since when that is known. */
  readonly #orphans = new Map<VolumeId, number>()

  constructor(context: Context, orphanMs: number) {
    this.#context = context
    this.#orphanMs = orphanMs
  }

  async run(): Promise<void> {
    const { store, hearth, hostId } = this.#context
    // First what is there, then the rows: a row is written before its volume is made, and outlives it.
    const there = new Set(await hearth.volumes.ids())
    const rows = await store.volumes.ofHost(hostId)
    for (const record of rows) {
      if (record.state === 'ready' && !there.has(record.id)) await this.#lose(record)
      if (record.state === 'lost' && there.has(record.id)) await this.#change(record, 'ready', 'volume.found')
    }
    const known = new Set<VolumeId>(rows.map(({ id }) => id))
    for (const owned of this.#context.volumeOwners) for (const id of await owned()) known.add(id)
    await this.#sweep([...there].filter((id) => !known.has(id)))
  }

  async #lose(record: VolumeRecord): Promise<void> {
    // It may have been made since the store was looked at.
    if ((await this.#context.hearth.volumes.info(record.id)) !== null) return
    if (await this.#goesWithItsWorkspace(record)) return
    if (!(await this.#change(record, 'lost', 'volume.lost'))) return
    const missing = new HearthError('volume_not_found', `the files of volume ${record.id} are not in the store`)
    this.#context.report(`volume ${record.id}`, missing)
  }

  /** The files of a workspace that is removed go before its rows. */
  async #goesWithItsWorkspace({ tenantId, workspaceId }: VolumeRecord): Promise<boolean> {
    if (workspaceId === null) return false
    const workspace = await this.#context.store.workspaces.find(tenantId, workspaceId)
    return workspace === null || workspace.state === 'deleting'
  }

  async #change({ id, tenantId, name, state }: VolumeRecord, to: 'ready' | 'lost', type: string): Promise<boolean> {
    return await this.#context.store.transaction(async (session) => {
      if (!(await session.volumes.move(id, state, to))) return false
      await session.events.append({ tenantId, sandboxId: null, type, data: { volume: id, name } })
      return true
    })
  }

  /** What is durable is given time: somebody may still look for it. */
  async #sweep(found: readonly VolumeId[]): Promise<void> {
    for (const id of this.#orphans.keys()) if (!found.includes(id)) this.#orphans.delete(id)
    for (const id of found) {
      const since = this.#orphans.get(id)
      if (since === undefined) {
        this.#orphans.set(id, Date.now())
        this.#context.report(
          `volume ${id}`,
          new HearthError('conflict', 'no row tells whose it is; it will be removed'),
        )
      }
      if (Date.now() - (since ?? Date.now()) < this.#orphanMs) continue
      await this.#context.hearth.volumes.discard(id)
      this.#orphans.delete(id)
    }
  }
}
