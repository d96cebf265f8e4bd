import {
  HearthError,
  newSnapshotId,
  parseInput,
  snapshotNameSchema,
  snapshotOptionsSchema,
  type MemoryMode,
  type SandboxId,
  type SnapshotId,
  type SnapshotInfo,
} from '@hearth/contract'
import type { HostPaths } from '../host/host.ts'
import type { OnProblem } from '../host/in-background.ts'
import type { Captured } from '../machine/machine.ts'
import type { ImportOptions } from '../store/archive/import-snapshot.ts'
import { SnapshotStore } from '../store/snapshot-store.ts'
import {
  isPassing,
  type CapturedInterpreter,
  type SnapshotManifest,
  type StoredSnapshot,
} from '../store/snapshot-manifest.ts'
import { nameVolumes, type VolumeCapture } from '../volumes/captured-volumes.ts'
import type { Capturable, EngineSnapshotOptions } from './captures.ts'
import type { EmbeddedSandbox } from './embedded-sandbox.ts'
import { listAllRecords, snapshotsOf } from './sandbox-record.ts'

/** What was captured and is not yet in the store: it vanishes with this process unless it is committed. */
export interface Draft {
  readonly snapshot: StoredSnapshot
  readonly captured: Captured
}

/** The snapshots of one home. */
export class Snapshots {
  readonly #paths: HostPaths
  readonly #store: SnapshotStore
  readonly #onProblem: OnProblem
  /** One after the other, so that the last child of a fork is recognised. */
  #releasing: Promise<void> = Promise.resolve()

  constructor(paths: HostPaths, onProblem: OnProblem) {
    this.#paths = paths
    this.#store = new SnapshotStore(paths, onProblem)
    this.#onProblem = onProblem
  }

  /** Those that somebody took, oldest first. */
  async list(): Promise<SnapshotInfo[]> {
    const stored = await this.#store.list()
    return stored.filter(({ manifest }) => manifest.kind === 'snapshot').map(({ manifest }) => manifest.info)
  }

  /** By identifier or name. */
  async get(snapshot: string): Promise<SnapshotInfo> {
    return (await this.#store.get(snapshot)).manifest.info
  }

  /** Refused with `snapshot_in_use` while a sandbox that was made of it lives, or another snapshot lies on top of it. */
  async remove(snapshot: string): Promise<void> {
    const { id } = await this.#store.get(snapshot)
    await this.#store.remove(id, await this.#inUse())
  }

  /** All of it but its template, as the bytes of one file. */
  async export(snapshot: string): Promise<AsyncIterable<Uint8Array>> {
    return this.#store.export(await this.#store.whole(snapshot))
  }

  /** What `export` gave, here or on another host, as a new snapshot. Refused with `snapshot_corrupt` when anything of it is not as it was. */
  async import(
    source: AsyncIterable<Uint8Array>,
    options: Omit<ImportOptions, 'name' | 'limits'> & { readonly name?: string } = {},
  ): Promise<SnapshotInfo> {
    const { name, ...rest } = options
    const imported = await this.#store.import(source, {
      name: name === undefined ? null : parseInput(snapshotNameSchema, name, 'name'),
      ...rest,
    })
    return imported.manifest.info
  }

  /** The digests of the templates that snapshots lie on. */
  async templateDigests(): Promise<Set<string>> {
    const snapshots = (await this.#store.list()).map(({ manifest }) => manifest.templateDigest)
    const sandboxes = (await listAllRecords(this.#paths.sandboxes)).map(({ templateDigest }) => templateDigest)
    return new Set([...snapshots, ...sandboxes].filter((digest) => /^sha256:[0-9a-f]{64}$/.test(digest)))
  }

  /** With what only the engine needs to know. */
  async stored(snapshot: string): Promise<StoredSnapshot> {
    return await this.#store.whole(snapshot)
  }

  async take(sandbox: EmbeddedSandbox, { id, ...options }: EngineSnapshotOptions): Promise<SnapshotInfo> {
    const { name, memory = 'auto', metadata = {} } = parseInput(snapshotOptionsSchema, options, 'options')
    const draft = await this.draft(
      sandbox,
      memory,
      { kind: 'snapshot', name: name ?? null, metadata },
      id === undefined ? {} : { id },
    )
    return (await this.commit(draft)).manifest.info
  }

  /**
   * Captures a sandbox. Whoever asks commits it or discards it. `early` is called where copies can be made while it is being taken, with
   * what it will be.
   */
  async draft(
    sandbox: Capturable,
    memory: MemoryMode,
    about: Pick<SnapshotManifest, 'kind'> & Pick<SnapshotInfo, 'name' | 'metadata'>,
    options: {
      readonly id?: SnapshotId
      readonly early?: (begun: StoredSnapshot) => Promise<void>
      readonly volumes?: VolumeCapture
    } = {},
  ): Promise<Draft> {
    const { id = newSnapshotId(), early, volumes = nameVolumes(sandbox.record.info) } = options
    const { directory } = await this.#store.draft(id)
    const describe = (captured: Parameters<typeof manifestOf>[2]): SnapshotManifest =>
      manifestOf(id, sandbox, captured, { ...about, volumes: [...volumes.volumes] })
    const begun = (area: string): StoredSnapshot => ({ id, directory, manifest: describe(SUBVOLUME), still: area })
    try {
      const captured = await sandbox.capture(directory, memory, {
        ...(early === undefined ? {} : { early: (area) => early(begun(area)) }),
        ...(volumes.volumes.some(({ copy }) => copy !== null) ? { alongside: () => volumes.copy(directory) } : {}),
      })
      return { captured, snapshot: { id, directory, manifest: describe(captured) } }
    } catch (error) {
      await this.#store.discard(id)
      throw error
    }
  }

  async commit({ snapshot }: Draft): Promise<StoredSnapshot> {
    try {
      return await this.#store.commit(snapshot.id, snapshot.manifest)
    } catch (error) {
      await this.#store.discard(snapshot.id)
      throw error
    }
  }

  /** Of a fork: its children have the memory, and only the files stay, for as long as one of them lives. */
  async commitFork({ snapshot: { id, manifest } }: Draft): Promise<void> {
    if (manifest.memory !== null) await this.#store.dropMemory(id)
    const info = { ...manifest.info, memory: false, memoryBytes: 0 }
    await this.#store.commit(id, { ...manifest, info, memory: null, interpreters: [] })
  }

  async discard({ snapshot }: Draft): Promise<void> {
    await this.#store.discard(snapshot.id)
  }

  /**
   * A sandbox that was made of it, or slept in it, is gone; null when it has only woken. The snapshot of a fork goes with the last of its children,
   * that of a sleep at once, and any other stays.
   */
  released(snapshot: SnapshotId, sandbox: SandboxId | null): Promise<void> {
    return this.#inTurn(() => this.#release(snapshot, sandbox))
  }

  /** Of a sandbox that has woken and whose files lie on those of this snapshot: its memory goes. */
  keepFiles(id: SnapshotId): Promise<void> {
    return this.#inTurn(() => this.#store.keepFiles(id))
  }

  /** Resolves when nothing is being removed or written out behind anybody's back. */
  async settled(): Promise<void> {
    await this.#releasing
    await this.#store.settled()
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const mine = this.#releasing.then(work)
    this.#releasing = mine.catch(() => undefined)
    return mine
  }

  async #release(snapshot: SnapshotId, gone: SandboxId | null): Promise<void> {
    try {
      const { manifest } = await this.#store.get(snapshot)
      // Its own record may outlast it by a moment.
      const inUse = await this.#inUse(gone)
      if (!isPassing(manifest) || inUse.has(snapshot)) return
      await this.#store.remove(snapshot, inUse)
      // What it lay on may have been there for it alone.
      const below = manifest.disk.kind === 'layer' ? manifest.disk.layers : []
      for (const layer of below) await this.#release(layer, gone)
    } catch (error) {
      // Never committed, removed already, below the files of another, or another process is at it. The next sweep removes what has to be.
      if (!HearthError.isInstance(error) && (error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }

  /** Removes what crashes have left and what nobody can use any more. */
  async collect(graceMs: number): Promise<void> {
    await this.#releasing
    // Nobody knows what a record names that a crash has damaged: until it is swept itself, everything stays.
    const inUse = await this.#inUse().catch((error: unknown) => {
      this.#onProblem('collecting snapshots', error)
      return null
    })
    if (inUse !== null) await this.#store.collect(inUse, graceMs)
  }

  /** Whether a sandbox that says so was made to the end: the snapshot of a fork is there once all its children are. */
  async isComplete(origin: SnapshotId): Promise<boolean> {
    return await this.#store.get(origin).then(
      () => true,
      (error: unknown) => {
        if (HearthError.isInstance(error) && error.code === 'snapshot_not_found') return false
        throw error
      },
    )
  }

  async #inUse(except: SandboxId | null = null): Promise<Set<SnapshotId>> {
    const records = await listAllRecords(this.#paths.sandboxes)
    return new Set(records.flatMap((record) => (record.info.id === except ? [] : snapshotsOf(record))))
  }
}

/** What is known of the files of a sandbox before they are captured, where they lie in a subvolume. */
const SUBVOLUME = { disk: { kind: 'subvolume' }, diskBytes: 0, memory: null, interpreters: [] } as const

function manifestOf(
  id: SnapshotId,
  sandbox: Capturable,
  captured: Pick<Captured, 'disk' | 'diskBytes' | 'memory'> & { readonly interpreters: readonly CapturedInterpreter[] },
  about: Pick<SnapshotManifest, 'kind' | 'volumes'> & Pick<SnapshotInfo, 'name' | 'metadata'>,
): SnapshotManifest {
  const { info, templateDigest, hostTools, configuration } = sandbox.record
  const { disk, diskBytes, memory, interpreters } = captured
  return {
    version: 1,
    kind: about.kind,
    info: {
      id,
      name: about.name,
      sandbox: info.id,
      parent: info.origin,
      rung: info.rung,
      driver: info.driver,
      template: info.template,
      createdAt: new Date(),
      memory: memory !== null,
      diskBytes,
      memoryBytes: memory?.bytes ?? 0,
      metadata: { ...about.metadata },
      limits: info.limits,
    },
    templateDigest,
    hostTools,
    disk,
    memory,
    interpreters: memory === null ? [] : [...interpreters],
    configuration,
    volumes: about.volumes,
  }
}
