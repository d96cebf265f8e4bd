import type { CreateFrom, FileChange, Sandbox, SandboxId, VolumeId, VolumeInfo, VolumeOptions } from '@hearth/contract'
import type { DriverCapabilities } from '../support/capabilities.ts'
import type { Suite, SuiteSkip, TestOptions } from '../support/suite.ts'

export interface VolumeSuiteOptions {
  readonly name: string
  /** A new sandbox of the rung under test, of its default user; the suite kills it. */
  readonly create: (spec?: CreateFrom) => Promise<Sandbox>
  readonly capabilities: DriverCapabilities & { readonly snapshots: boolean; readonly memory: boolean }
  /** A template of the rung with `python3` and `git`. */
  readonly pythonTemplate: string
  readonly volumes: {
    create(options?: VolumeOptions): Promise<VolumeInfo>
    clone(source: VolumeId, options?: VolumeOptions): Promise<VolumeInfo>
    info(id: VolumeId): Promise<VolumeInfo | null>
    list(): Promise<readonly VolumeInfo[]>
    changes(volume: VolumeId, since: VolumeId): Promise<readonly FileChange[]>
    remove(id: VolumeId): Promise<void>
  }
  readonly wake: (id: SandboxId) => Promise<Sandbox>
  readonly removeSnapshot: (snapshot: string) => Promise<void>
  readonly skip?: readonly SuiteSkip[]
}

/** Where the suite attaches volumes, unless it is about that. */
export const PLACE = '/workspace'

/** What the themes of the suite share. */
export class VolumeSuite {
  readonly options: VolumeSuiteOptions
  readonly #suite: Suite

  constructor(options: VolumeSuiteOptions, suite: Suite) {
    this.options = options
    this.#suite = suite
  }

  /** A test with a volume of its own, which is gone afterwards. */
  test(name: string, options: TestOptions & VolumeOptions, body: (volume: VolumeId) => Promise<void>): void {
    const { needs, timeoutMs, ...wanted } = options
    const about = { ...(needs === undefined ? {} : { needs }), ...(timeoutMs === undefined ? {} : { timeoutMs }) }
    this.#suite.plain(name, about, async () => {
      await using made = new MadeVolumes(this.options.volumes)
      await body((await made.create(wanted)).id)
    })
  }

  /** A sandbox that has the volume at the usual place. */
  async attach(volume: VolumeId, spec: CreateFrom & { readonly readOnly?: boolean } = {}): Promise<Sandbox> {
    const { readOnly = false, ...rest } = spec
    return await this.options.create({ volumes: [{ volume, path: PLACE, readOnly }], ...rest })
  }
}

/** Volumes that are gone at the end of the block, whatever their sandboxes do. */
export class MadeVolumes implements AsyncDisposable {
  readonly #volumes: VolumeSuiteOptions['volumes']
  readonly #before: Promise<ReadonlySet<VolumeId>>

  constructor(volumes: VolumeSuiteOptions['volumes']) {
    this.#volumes = volumes
    this.#before = this.#ids()
  }

  async create(options: VolumeOptions): Promise<VolumeInfo> {
    await this.#before
    return await this.#volumes.create(options)
  }

  async #ids(): Promise<ReadonlySet<VolumeId>> {
    return new Set((await this.#volumes.list()).map(({ id }) => id))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const before = await this.#before
    for (const id of await this.#ids()) if (!before.has(id)) await this.#volumes.remove(id)
  }
}
