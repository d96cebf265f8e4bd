// For tests: a control plane over a real engine and SQLite, in a home of its own.
import { readFileSync } from 'node:fs'
import { mkdtemp, readdir, readlink, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CreateSandbox, SandboxView, SnapshotInfo, VolumeView } from '@hearth/contract'
import { Hearth, type HearthOptions } from '@hearth/engine'
import type { Caller, ListQuery } from '../control-plane.ts'
import { InsideConnections } from '../http/access/inside.ts'
import { engineOptions } from '../record/engine-options.ts'
import { Records, type RecordsOptions } from '../record/records.ts'
import { deriveKeys, openStore, serverKey, type Store } from '../state/index.ts'
import { LocalControlPlane, type LocalControlPlaneOptions } from './local-control-plane.ts'
import { shareProbes } from './shared-probes.ts'

export interface ServerOptions extends Partial<Omit<LocalControlPlaneOptions, 'store' | 'hearth'>> {
  readonly spareKeepers?: number
  /** Default: none. */
  readonly pool?: HearthOptions['pool']
  /** Default: SQLite in the home. */
  readonly database?: string
  /** Bounds of the record, for a test that reaches them soon. */
  readonly bounds?: RecordsOptions
}

export const EVERYTHING: ListQuery = { limit: 1000, cursor: null, state: null, rung: null, metadata: {} }
export const NEVER: AbortSignal = new AbortController().signal

/** One life of a server. */
export class TestServer implements AsyncDisposable {
  readonly store: Store
  readonly plane: LocalControlPlane
  readonly problems: string[]
  readonly #callers = new Map<string, Promise<Caller>>()

  private constructor(store: Store, plane: LocalControlPlane, problems: string[]) {
    this.store = store
    this.plane = plane
    this.problems = problems
  }

  static async start(home: string, options: ServerOptions = {}): Promise<TestServer> {
    const { spareKeepers = 0, database = `sqlite:${join(home, 'hearth.db')}`, bounds = {}, pool, ...rest } = options
    const store = await openStore({ url: database, keys: deriveKeys(await serverKey(join(home, 'secret-key'), '')) })
    const records = new Records(store, bounds)
    const problems: string[] = []
    const onProblem = (what: string, error: unknown): void => void problems.push(`${what}: ${String(error)}`)
    const engine = engineOptions(store, records, new InsideConnections())
    const hearth = new Hearth({ home, spareKeepers, onProblem, ...engine, ...(pool === undefined ? {} : { pool }) })
    try {
      const plane = await LocalControlPlane.open({ store, hearth, records, onProblem, ...rest })
      return new TestServer(store, plane, problems)
    } catch (error) {
      await store.close()
      throw error
    }
  }

  /** The caller for a tenant of that name, which is made if it is not there. */
  caller(name = 'tester'): Promise<Caller> {
    const caller = this.#callers.get(name) ?? this.#makeCaller(name)
    this.#callers.set(name, caller)
    return caller
  }

  async #makeCaller(name: string): Promise<Caller> {
    const tenant = (await this.store.tenants.findByName(name)) ?? (await this.store.tenants.create({ name }))
    return {
      tenantId: tenant.id,
      keyId: 'key',
      scopes: new Set(['admin'] as const),
      requestId: 'request',
      holder: null,
    }
  }

  async create(request: CreateSandbox = {}, idempotencyKey: string | null = null): Promise<SandboxView> {
    const options = { idempotencyKey, signal: NEVER }
    return await this.plane.create(await this.caller(), { rung: 'process', ...request }, options)
  }

  /** Output of a shell command in a sandbox. */
  async run(id: string, command: string): Promise<string> {
    using use = await this.plane.use(await this.caller(), id)
    return (await use.sandbox.exec(command)).stdout
  }

  async states(): Promise<Record<string, string>> {
    const { items } = await this.plane.list(await this.caller(), EVERYTHING)
    return Object.fromEntries(items.map(({ id, state }) => [id, state]))
  }

  async snapshots(): Promise<readonly SnapshotInfo[]> {
    const { items } = await this.plane.snapshots.list(await this.caller(), { limit: 1000, cursor: null })
    return items
  }

  async volumes(): Promise<readonly VolumeView[]> {
    const { items } = await this.plane.volumes.list(await this.caller(), { limit: 1000, cursor: null })
    return items
  }

  /** What the server did with a sandbox, without what happened in it. */
  async events(sandboxId: string): Promise<string[]> {
    const { events } = await this.store.events.page({ sandboxId })
    return events.map(({ type }) => type).filter((type) => !type.startsWith('command.'))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.plane.close()
  }
}

/** A directory for several lives of a server; what is left in it at the end is ended. */
export class TestHome implements AsyncDisposable {
  readonly path: string

  private constructor(path: string) {
    this.path = path
  }

  static async make(): Promise<TestHome> {
    const path = await mkdtemp(join(tmpdir(), 'hearth-lifecycle-'))
    await shareProbes(path)
    return new TestHome(path)
  }

  start(options: ServerOptions = {}): Promise<TestServer> {
    return TestServer.start(this.path, options)
  }

  /** Ids of the sandboxes that have a directory. */
  async directories(): Promise<string[]> {
    const names: string[] = await readdir(join(this.path, 'sandboxes')).catch(() => [])
    return names.toSorted()
  }

  /** Ids of all that is in the store of snapshots, also of what is half-made. */
  async snapshots(): Promise<string[]> {
    const names: string[] = await readdir(join(this.path, 'store/snapshots')).catch(() => [])
    return names.toSorted()
  }

  /** Ids of all that is in the store of volumes, also of what is half-made. */
  async volumes(): Promise<string[]> {
    const names: string[] = await readdir(join(this.path, 'store/volumes')).catch(() => [])
    return names.toSorted()
  }

  /** Ids of the snapshots that sandboxes sleep in, or lie on since they woke. */
  async slept(): Promise<string[]> {
    const records = (await this.directories()).map((id) =>
      readFileSync(join(this.path, 'sandboxes', id, 'sandbox.json')),
    )
    return records.flatMap((text) => {
      const { sleep, liesOn } = JSON.parse(text.toString()) as {
        sleep: { snapshot: string } | null
        liesOn: string | null
      }
      return [sleep?.snapshot ?? [], liesOn ?? []].flat()
    })
  }

  /** Ids of the sandboxes that a keeper works for, once for each: a keeper works in its sandbox's directory. */
  async keepers(): Promise<string[]> {
    const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
    const root = join(this.path, 'sandboxes')
    const found = await Promise.all(
      pids.map(async (pid) => {
        const program = await readlink(`/proc/${pid}/exe`).catch(() => '')
        const directory = await readlink(`/proc/${pid}/cwd`).catch(() => '')
        return program.includes('hearth-guest') && directory.startsWith(root) ? directory.slice(root.length + 1) : null
      }),
    )
    return found.filter((id) => id !== null).toSorted()
  }

  /** Mounts of the host below the home. */
  mounts(): string[] {
    return readFileSync('/proc/self/mounts', 'utf8')
      .split('\n')
      .filter((line) => line.includes(this.path))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const hearth = new Hearth({ home: this.path, spareKeepers: 0 })
    for (const { id } of await hearth.survey()) await hearth.discard(id)
    await hearth.dispose()
    await rm(this.path, { recursive: true, force: true })
  }
}
