import { mkdir, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  DEFAULT_LIMITS,
  newSandboxId,
  newSnapshotId,
  type Limits,
  type SandboxId,
  type SnapshotInfo,
} from '@hearth/contract'
import { DriverRegistry } from '../../drivers/registry.ts'
import { readResources } from '../../drivers/machine-resources.ts'
import { readHostFacts } from '../../host/facts.ts'
import { hostPaths, type HostPaths } from '../../host/host.ts'
import type { Machine } from '../../machine/machine.ts'
import { executeIn } from '../../machine/run-command.fixture.ts'
import { readHostTemplate } from '../../templates/host-template.ts'
import type { CapturedArea } from '../disk-area.ts'
import { ensureStore, removeStore } from '../disk-store.ts'
import type { SnapshotManifest, StoredSnapshot } from '../snapshot-manifest.ts'
import { SnapshotStore } from '../snapshot-store.ts'
import { runStore } from '../store-helper.ts'

/** A running sandbox of the process rung. */
export interface Actor {
  readonly id: SandboxId
  readonly directory: string
  readonly machine: Machine
  /** Output of a command, which must succeed. */
  run(command: string): Promise<string>
}

/** A home of its own with a store, and real sandboxes in it. */
export class Stage implements AsyncDisposable {
  readonly paths: HostPaths
  readonly registry: DriverRegistry
  readonly snapshots: SnapshotStore

  private constructor(paths: HostPaths, registry: DriverRegistry) {
    this.paths = paths
    this.registry = registry
    this.snapshots = new SnapshotStore(paths)
  }

  /** `directory`: where the home is made. `btrfs`: with a disk store of this size, or `native`: on the btrfs that the directory lies on. */
  static async open(options: { directory?: string; btrfs?: string } = {}): Promise<Stage> {
    const home = await mkdtemp(join(options.directory ?? tmpdir(), 'hearth-stage-'))
    const paths = hostPaths({ ...process.env, HEARTH_HOME: home })
    if (options.btrfs !== undefined) {
      const native = options.btrfs === 'native'
      const store = await ensureStore(paths, native ? {} : { ...process.env, HEARTH_STORE_SIZE: options.btrfs })
      if (store.place !== (native ? 'home' : 'file')) throw new Error(store.reason ?? `it is a ${store.place}`)
    }
    return new Stage(paths, new DriverRegistry(paths, await readHostFacts(), 0))
  }

  async launch(from: StoredSnapshot | null = null, limits: Partial<Limits> = {}): Promise<Actor> {
    const id = newSandboxId()
    const directory = join(this.paths.sandboxes, id)
    await mkdir(directory, { recursive: true, mode: 0o700 })
    const machine = await this.registry.byName('bubblewrap').launch({
      id,
      directory,
      template: await readHostTemplate(this.paths),
      from,
      volumes: [],
      limits: { ...DEFAULT_LIMITS, diskBytes: 64 * 1024 * 1024, ...limits },
      hostname: 'stage',
      environment: { PATH: '/usr/bin:/bin:/usr/sbin:/sbin' },
      workdir: '/',
      user: process.getuid?.() === 0 ? 'root' : '',
    })
    return { id, directory, machine, run: (command) => run(machine, command) }
  }

  /** The area of a sandbox, into the directory of a draft. */
  async captureInto(actor: Actor, directory: string): Promise<CapturedArea> {
    const resources = await readResources(actor.directory)
    if (resources === null) throw new Error(`${actor.id} has no resources`)
    return await this.registry.services.disks.capture(resources.disk, resources.idBase, directory)
  }

  async capture(
    actor: Actor,
    facts: Partial<SnapshotInfo> & { kind?: SnapshotManifest['kind'] } = {},
  ): Promise<StoredSnapshot> {
    const id = newSnapshotId()
    const { directory } = await this.snapshots.draft(id)
    try {
      const captured = await this.captureInto(actor, directory)
      const { kind = 'snapshot', ...info } = facts
      return await this.snapshots.commit(id, manifestOf(actor.id, captured, { ...info, id }, kind))
    } catch (error) {
      await this.snapshots.discard(id)
      throw error
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.snapshots.settled()
    await this.registry.services.keepers.dispose()
    await removeStore(this.paths)
    await runStore(this.paths.guest, 'remove', this.paths.home)
  }
}

export function manifestOf(
  sandbox: SandboxId,
  { disk, diskBytes }: CapturedArea,
  info: Partial<SnapshotInfo> & Pick<SnapshotInfo, 'id'>,
  kind: SnapshotManifest['kind'] = 'snapshot',
): SnapshotManifest {
  return {
    version: 1,
    kind,
    info: {
      name: null,
      sandbox,
      parent: null,
      rung: 'process',
      driver: 'bubblewrap',
      template: 'host',
      createdAt: new Date(),
      memory: false,
      diskBytes,
      memoryBytes: 0,
      metadata: {},
      limits: DEFAULT_LIMITS,
      ...info,
    },
    templateDigest: 'sha256:0',
    hostTools: null,
    interpreters: [],
    disk,
    memory: null,
    configuration: { hostname: 'stage', environment: {}, workdir: '/', user: 'root' },
    volumes: [],
  }
}

async function run(machine: Machine, command: string): Promise<string> {
  const { stdout, exitCode } = await executeIn(machine, command)
  if (exitCode !== 0) throw new Error(`${command} ended with ${exitCode}: ${stdout}`)
  return stdout
}
