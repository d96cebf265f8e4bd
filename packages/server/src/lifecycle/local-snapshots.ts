import {
  HearthError,
  newSnapshotId,
  parseInput,
  snapshotIdSchema,
  snapshotNameSchema,
  type SnapshotId,
  type SnapshotInfo,
} from '@hearth/contract'
import type { Caller, Page, SnapshotControl, SnapshotSource } from '../control-plane.ts'
import { requireQuota, snapshotWithinQuota, type SnapshotRecord } from '../state/index.ts'
import type { Context } from './context.ts'
import { findSnapshot, snapshotNotFound } from './finding-snapshots.ts'
import { requireUnlimited } from './within-grant.ts'
import { forgetImport, removeSnapshot, requireUnused } from './removing-snapshots.ts'

/** The snapshots of a tenant on this host. */
export class LocalSnapshots implements SnapshotControl {
  readonly #context: Context
  readonly #requireOpen: () => void
  /** How many read each of them just now. */
  readonly #read = new Map<SnapshotId, number>()

  constructor(context: Context, requireOpen: () => void) {
    this.#context = context
    this.#requireOpen = requireOpen
  }

  async list(
    caller: Caller,
    query: { readonly limit: number; readonly cursor: string | null },
  ): Promise<Page<SnapshotInfo>> {
    this.#requireOpen()
    if (caller.holder !== null) return { items: [], next: null }
    const { limit, cursor } = query
    const options = { limit, ...(cursor === null ? {} : { cursor }) }
    const { items, next } = await this.#context.store.snapshots.list(caller.tenantId, options)
    return { items: items.map(infoOf), next }
  }

  async get(caller: Caller, snapshot: string): Promise<SnapshotInfo> {
    this.#requireOpen()
    requireUnlimited(caller, 'snapshots')
    const record = await this.#context.store.snapshots.find(caller.tenantId, snapshot)
    if (record === null) throw snapshotNotFound(snapshot)
    return infoOf(record)
  }

  async remove(caller: Caller, snapshot: string): Promise<void> {
    this.#requireOpen()
    requireUnlimited(caller, 'snapshots')
    const point = snapshotIdSchema.safeParse(snapshot).data
    // The point of a fork has no row, and is in use as long as it is there.
    if (point !== undefined) await requireUnused(this.#context, caller.tenantId, point)
    const record = await findSnapshot(this.#context, caller.tenantId, snapshot)
    if (this.#read.has(record.id)) throw new HearthError('snapshot_in_use', `snapshot ${record.id} is being exported`)
    await removeSnapshot(this.#context, record)
  }

  async *export(caller: Caller, snapshot: string): AsyncGenerator<Uint8Array, void> {
    this.#requireOpen()
    requireUnlimited(caller, 'snapshots')
    const { id } = await findSnapshot(this.#context, caller.tenantId, snapshot)
    this.#read.set(id, (this.#read.get(id) ?? 0) + 1)
    try {
      yield* await this.#context.hearth.snapshots.export(id)
    } finally {
      const others = (this.#read.get(id) ?? 1) - 1
      if (others > 0) this.#read.set(id, others)
      else this.#read.delete(id)
    }
  }

  async import(caller: Caller, source: SnapshotSource): Promise<SnapshotInfo> {
    this.#requireOpen()
    requireUnlimited(caller, 'snapshots')
    const context = this.#context
    const name = source.name === null ? null : parseInput(snapshotNameSchema, source.name, 'name')
    const { tenantId } = caller
    const id = newSnapshotId()
    const bytes = source.declaredBytes ?? 0
    const row = { id, tenantId, hostId: context.hostId, state: 'importing', name, sandboxId: null, bytes } as const
    context.snapshotsInWork.add(id)
    try {
      await context.store.transaction((session) => snapshotWithinQuota(session, row))
      try {
        // SAFETY: checksums are no signature, and runsc and QEMU read memory as what they wrote themselves.
        const memory = caller.scopes.has('operator') ? 'auto' : 'none'
        const info = await context.hearth.snapshots.import(source.content, { id, memory, signal: source.signal })
        context.step('import:taken')
        return infoOf(await this.#imported(tenantId, info, bytes))
      } catch (error) {
        await forgetImport(context, id)
        throw error
      }
    } finally {
      context.snapshotsInWork.delete(id)
    }
  }

  /** It may hold more than was sent, and more than it says: what was really taken in is counted before anybody has it. */
  async #imported(tenantId: string, info: SnapshotInfo, counted: number): Promise<SnapshotRecord> {
    return await this.#context.store.transaction(async (session) => {
      const { id, diskBytes, memoryBytes, memory } = info
      await requireQuota(session, tenantId, { diskBytes: diskBytes + memoryBytes - counted })
      const record = await session.snapshots.ready(id, info)
      const data = { snapshot: id, name: record.name, memory }
      await session.events.append({ tenantId, sandboxId: null, type: 'snapshot.imported', data })
      return record
    })
  }
}

/** What is told of one that is ready. */
export function infoOf(record: SnapshotRecord): SnapshotInfo {
  if (record.info === null) throw new HearthError('internal', `nothing is known of snapshot ${record.id}`)
  return record.info
}
