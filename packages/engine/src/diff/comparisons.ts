import {
  diffOptionsSchema,
  HearthError,
  mergeOptionsSchema,
  parseInput,
  type CreateFrom,
  type DiffOptions,
  type FileChange,
  type MergeOptions,
  type MergeResult,
  type SnapshotId,
} from '@hearth/contract'
import { hostRoot } from '../drivers/staging/host-root.ts'
import type { HostFacts } from '../host/facts.ts'
import type { HostPaths } from '../host/host.ts'
import type { ChangeList } from '../machine/machine-changes.ts'
import type { EmbeddedSandbox } from '../sandbox/embedded-sandbox.ts'
import type { Snapshots } from '../sandbox/snapshots.ts'
import type { StoredSnapshot } from '../store/snapshot-manifest.ts'
import type { TemplateStore } from '../templates/template-store.ts'
import type { Volumes } from '../volumes/volumes.ts'
import { CapturedRoot, type Capture } from './captured-root.ts'
import { recordPath, type ChangeRecord } from './change-record.ts'
import { GuestRoot } from './guest-root.ts'
import { fileChange } from './list-changes.ts'
import { mergeRoots } from './merge-roots.ts'
import { isOwnPath } from './own-paths.ts'
import type { RootState } from './root-state.ts'
import { RootWithVolumes } from './root-with-volumes.ts'
import { VolumeTree } from './volume-tree.ts'
import { RememberedByKey } from '../host/remembered.ts'

/** What a comparison needs of whoever makes the sandboxes. */
export interface SandboxHome {
  readonly paths: HostPaths
  readonly snapshots: Snapshots
  readonly volumes: Volumes
  readonly templates: TemplateStore
  create(spec: CreateFrom): Promise<EmbeddedSandbox>
}

/** A sandbox that is only looked at ends at once; should this process die before, soon. */
const LOOK_MS = 120_000
/** Snapshots of which it is remembered what they held. */
const LISTINGS = 8

/** What changed in sandboxes, and how it is brought from one to another. */
export class Comparisons {
  readonly #home: SandboxHome
  readonly #facts: () => Promise<HostFacts>
  readonly #listings = new RememberedByKey<ChangeRecord[]>(LISTINGS)

  constructor(home: SandboxHome, facts: () => Promise<HostFacts>) {
    this.#home = home
    this.#facts = facts
  }

  async diff(sandbox: EmbeddedSandbox, { signal, ...asked }: DiffOptions): Promise<FileChange[]> {
    const { since = 'origin', paths, contentBytes } = parseInput(diffOptionsSchema, asked, 'options')
    const base = await this.#base(sandbox, since)
    await using root = await this.#open(sandbox)
    const changes = await root.changesSince(base, {
      paths: recordPaths(paths),
      contentBytes: contentBytes ?? null,
      signal,
    })
    return changes
      .filter(({ record }) => !isOwnPath(record.path))
      .map((change) => fileChange(change, contentBytes !== undefined))
  }

  async merge(
    parent: EmbeddedSandbox,
    child: EmbeddedSandbox,
    { signal, ...asked }: MergeOptions,
  ): Promise<MergeResult> {
    const { paths } = parseInput(mergeOptionsSchema, asked, 'options')
    const base = await this.#forkPoint(parent, child)
    await using childRoot = await this.#open(child)
    await using parentRoot = await this.#open(parent)
    return await mergeRoots({
      parent: parentRoot,
      child: childRoot,
      base,
      paths: recordPaths(paths),
      apply: (operations) => parent.applyChanges(operations, signal),
      signal,
    })
  }

  async #base(sandbox: EmbeddedSandbox, since: 'template' | 'origin' | SnapshotId): Promise<StoredSnapshot | null> {
    const { origin, rung } = sandbox.info
    const id = since === 'template' ? null : since === 'origin' ? origin : since
    if (id === null) return null
    const base = await this.#home.snapshots.stored(id)
    const { manifest } = base
    if (manifest.info.rung !== rung)
      throw new HearthError('snapshot_incompatible', `snapshot ${id} is of the rung ${manifest.info.rung}, not ${rung}`)
    if (manifest.templateDigest !== sandbox.record.templateDigest)
      throw new HearthError('snapshot_incompatible', `snapshot ${id} lies on another template than ${sandbox.id}`)
    return base
  }

  async #forkPoint(parent: EmbeddedSandbox, child: EmbeddedSandbox): Promise<StoredSnapshot> {
    if (child.info.parent !== parent.id)
      throw new HearthError('invalid_request', `${child.id} is no fork of ${parent.id}`, {
        suggestion: 'Only a direct child can be merged: merge a grandchild into its own parent first.',
      })
    const base = await this.#base(child, 'origin')
    if (base !== null) return base
    throw new HearthError('internal', `${child.id} does not know where it was forked`)
  }

  async #open(sandbox: EmbeddedSandbox): Promise<RootState> {
    const root = await this.#openRoot(sandbox)
    const mounts = sandbox.info.volumes.filter(({ readOnly }) => !readOnly)
    if (mounts.length === 0) return root
    const { volumes, paths } = this.#home
    const copies = new AsyncDisposableStack()
    try {
      const trees: VolumeTree[] = []
      for (const { volume, path } of mounts)
        trees.push(new VolumeTree(paths.guest, recordPath(path), copies.use(await volumes.still(volume))))
      return new RootWithVolumes(root, trees, copies)
    } catch (error) {
      await copies.disposeAsync()
      await root[Symbol.asyncDispose]()
      throw error
    }
  }

  async #openRoot(sandbox: EmbeddedSandbox): Promise<RootState> {
    const { changes } = sandbox
    if (changes.kind === 'own') return changes.open()
    if (changes.kind === 'guest')
      return new GuestRoot({ list: changes.list, earlier: (snapshot, list) => this.#earlier(snapshot, list) })
    const { snapshots, paths } = this.#home
    const [template, host] = await Promise.all([this.#templateRoot(sandbox), this.#facts()])
    const capture = async (): Promise<Capture> => {
      const draft = await snapshots.draft(sandbox, 'none', { kind: 'fork', name: null, metadata: {} })
      return { snapshot: draft.snapshot, [Symbol.asyncDispose]: () => snapshots.discard(draft) }
    }
    const inside = changes.stat === null ? null : { stat: changes.stat, capture }
    return new CapturedRoot({ paths, facts: host, template, now: await capture(), inside })
  }

  /** What a snapshot held: it never changes, so that one look is enough. */
  #earlier(snapshot: StoredSnapshot, list: (list: ChangeList) => Promise<ChangeRecord[]>): Promise<ChangeRecord[]> {
    return this.#listings.get(snapshot.id, () => this.#look(snapshot, list))
  }

  async #look<Value>(snapshot: StoredSnapshot, ask: (list: ChangeList) => Promise<Value>): Promise<Value> {
    await using sandbox = await this.#home.create({ from: snapshot.id, memory: 'none', ttlMs: LOOK_MS })
    const { changes } = sandbox
    if (changes.kind === 'guest') return await ask(changes.list)
    throw new HearthError('internal', `${sandbox.id} cannot tell what it holds`)
  }

  async #templateRoot(sandbox: EmbeddedSandbox): Promise<string> {
    const { info, templateDigest } = sandbox.record
    const template = await this.#home.templates.pinned(info.template, templateDigest)
    if (template === null)
      throw new HearthError('template_not_found', `the template ${info.template} of ${sandbox.id} is gone`)
    return template.kind === 'host' ? await hostRoot(template, this.#home.paths) : template.root
  }
}

function recordPaths(paths: readonly string[] | undefined): string[] | null {
  return paths === undefined ? null : paths.map(recordPath)
}
