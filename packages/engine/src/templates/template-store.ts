import { randomBytes } from 'node:crypto'
import { access, mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { HearthError, type RegistryCredentials } from '@hearth/contract'
import type { HostPaths } from '../host/host.ts'
import { inBackground, unheard, type OnProblem } from '../host/in-background.ts'
import { buildFrom } from './build-from.ts'
import { BuildLock } from './build-lock.ts'
import { readHostTemplate } from './host-template.ts'
import { SharedTask } from './shared-task.ts'
import { PrivatePulls, privateDigest, type PrivateImage } from './private-pulls.ts'
import { BUILT_IN_TEMPLATES, findSource, privateSource } from './sources.ts'
import { fileNameOf, rootNameOf, type TemplateRecord, TemplateRecords } from './template-record.ts'
import type { TemplateSource } from './template-source.ts'
import type { HostTemplate, Progress, Template } from './template.ts'

/** How long a description of the host's toolchain is used before it is read again. */
const HOST_TEMPLATE_MS = 5000

/** How a template is resolved or built. */
export interface ResolveOptions {
  /** Told what is being done, line by line. */
  readonly onProgress?: Progress
  /** Gives up; the build ends when nobody else waits for it. */
  readonly signal?: AbortSignal
}

export interface TemplateBuildOptions extends ResolveOptions {
  readonly force?: boolean
  /** For an image of a private registry. What was built is for all. */
  readonly credentials?: RegistryCredentials | null
}

const NEVER = new AbortController().signal

export interface TemplateListing {
  readonly name: string
  readonly digest: string | null
  readonly builtAt: Date | null
  /** Null while it is not built, and for `host`, which is not a directory. */
  readonly root: string | null
  /** It is `host`, or one of our own that is built at first use. */
  readonly builtIn: boolean
}

/** Templates by name: built or pulled at first use, then kept. Safe between processes that share one home. */
export class TemplateStore {
  readonly #paths: HostPaths
  readonly #records: TemplateRecords
  readonly #onProblem: OnProblem
  readonly #building = new Map<string, SharedTask<Template>>()
  readonly #private = new PrivatePulls()
  #host: { readonly template: HostTemplate; readonly readAt: number } | null = null

  constructor(paths: HostPaths, onProblem: OnProblem = unheard) {
    this.#paths = paths
    this.#onProblem = onProblem
    this.#records = new TemplateRecords(join(paths.templates, 'names'))
  }

  async resolve(name: string, options: ResolveOptions = {}): Promise<Template> {
    if (name === 'host') return await this.#hostTemplate()
    const pulled = this.#private.get(name)
    if (pulled !== null) return pulled
    const source = findSource(name, this.#paths)
    return (await this.#stored(name, source)) ?? (await this.#share(name, source, false, options))
  }

  /**
   * The template of something that was made of it: the same root, also when the name has another by now. Null when it is gone. The host's
   * own files are what they are.
   */
  async pinned(name: string, digest: string): Promise<Template | null> {
    if (name === 'host') return await this.#hostTemplate()
    if (!/^sha256:[0-9a-f]{64}$/.test(digest)) return null
    const record = await this.#records.read(name)
    if (!(await exists(this.#rootPath(digest)))) return null
    if (record?.digest === digest) return this.#templateOf(record)
    return { kind: 'directory', name, digest, root: this.#rootPath(digest), environment: {}, workdir: null, user: null }
  }

  /** Builds what is not there; with `force` also what is. A forced build leaves the old root to those who use it. */
  async build(name: string, options: TemplateBuildOptions = {}): Promise<Template> {
    const { force = false, credentials = null } = options
    if (name === 'host' || (!force && credentials === null)) return await this.resolve(name, options)
    const source = findSource(name, this.#paths, credentials)
    const stored = force ? null : await this.#stored(name, source)
    if (stored !== null) return stored
    // Whoever waits for a pull without them, or with others, waits for another one.
    if (credentials !== null) return await this.#buildOnce(name, source, force, options.onProgress, options.signal)
    return await this.#share(name, source, force, options)
  }

  /** An image for one who has its credentials, and for nobody else: no name leads to it, and no other image to its root. */
  async pull(image: PrivateImage, { onProgress = () => undefined, signal }: ResolveOptions = {}): Promise<string> {
    const source = privateSource(image)
    const fileName = fileNameOf(`private ${image.name}`)
    await using _lock = await BuildLock.acquire(this.#locks, fileName, signal ?? NEVER, () => undefined)
    await using workspace = await this.#workspace(fileName)
    const built = await buildFrom(image.name, source, {
      workspace: workspace.path,
      progress: onProgress,
      signal: signal ?? NEVER,
      has: async () => false,
    })
    const { environment, workdir, user } = built
    const digest = privateDigest(built.digest)
    const template = { kind: 'directory', name: image.name, digest, root: this.#rootPath(digest) } as const
    const handle = this.#private.add({ ...template, environment, workdir, user })
    try {
      if (built.root !== null) await this.#publish(built.root, digest)
      return handle
    } catch (error) {
      this.#private.remove(handle)
      throw error
    }
  }

  /** What was pulled under a handle stays while something lies on it. */
  async letGo(handle: string, kept: ReadonlySet<string>): Promise<void> {
    this.#private.remove(handle)
    await this.collect(kept)
  }

  /** What is built, and what of our own could be. */
  async list(): Promise<TemplateListing[]> {
    const records = await this.#records.list()
    const host = await this.#hostTemplate().catch(() => null)
    const missing = BUILT_IN_TEMPLATES.filter((name) => !records.some((record) => record.name === name))
    return [
      { name: 'host', digest: host?.digest ?? null, builtAt: null, root: null, builtIn: true },
      ...missing.map((name) => ({ name, digest: null, builtAt: null, root: null, builtIn: true })),
      ...records.map(({ name, digest, builtAt }) => ({
        name,
        digest,
        builtAt: new Date(builtAt),
        root: this.#rootPath(digest),
        builtIn: BUILT_IN_TEMPLATES.includes(name),
      })),
    ].toSorted((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** Forgets the name and removes its root. Refused with `template_in_use` when its digest is among the `kept`: something lies on it. */
  async remove(name: string, kept: ReadonlySet<string> = new Set()): Promise<void> {
    if (name === 'host') throw new HearthError('template_unsupported', 'the host template cannot be removed')
    await using _lock = await BuildLock.acquire(this.#locks, fileNameOf(name), NEVER, () => undefined)
    const digest = (await this.#records.read(name))?.digest
    if (digest !== undefined && kept.has(digest)) {
      throw new HearthError('template_in_use', `sandboxes or snapshots lie on template ${name}`, { context: { name } })
    }
    if (!(await this.#records.remove(name))) {
      throw new HearthError('template_not_found', `there is no built template ${name}`, { context: { name } })
    }
    await this.collect(kept)
  }

  /** Removes every root that neither a name nor `kept` has the digest of, and gives the digests. */
  async collect(kept: ReadonlySet<string>): Promise<string[]> {
    await using _roots = await BuildLock.acquire(this.#locks, 'roots', NEVER, () => undefined)
    const digests = [
      ...(await this.#records.list()).map((record) => record.digest),
      ...this.#private.digests(),
      ...kept,
    ]
    const used = new Set(digests.map(rootNameOf))
    const roots = await readdir(this.#roots).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return []
      throw error
    })
    const unused = roots.filter((root) => !used.has(root))
    for (const root of unused) await removeTree(join(this.#roots, root), this.#workspaces)
    return unused.map((root) => root.replace('-', ':'))
  }

  get #roots(): string {
    return join(this.#paths.templates, 'roots')
  }

  get #locks(): string {
    return join(this.#paths.templates, 'locks')
  }

  get #workspaces(): string {
    return join(this.#paths.templates, 'building')
  }

  #rootPath(digest: string): string {
    return join(this.#roots, rootNameOf(digest))
  }

  /** Reading it takes up to tens of milliseconds, so that after the first time it is done behind the back of the caller. */
  async #hostTemplate(): Promise<HostTemplate> {
    const known = this.#host
    if (known === null) return await this.#readHost()
    if (performance.now() - known.readAt > HOST_TEMPLATE_MS) {
      this.#host = { ...known, readAt: performance.now() }
      // What cannot be read any more is seen by the next process; this one goes on with what it knows.
      void inBackground('reading the host template again', () => this.#readHost(), this.#onProblem)
    }
    return known.template
  }

  async #readHost(): Promise<HostTemplate> {
    const template = await readHostTemplate(this.#paths)
    this.#host = { template, readAt: performance.now() }
    return template
  }

  async #stored(name: string, source: TemplateSource): Promise<Template | null> {
    const record = await this.#records.read(name)
    if (record === null || record.identity !== (await source.identity())) return null
    return (await exists(this.#rootPath(record.digest))) ? this.#templateOf(record) : null
  }

  #templateOf({ name, digest, environment, workdir, user }: TemplateRecord): Template {
    return { kind: 'directory', name, digest, root: this.#rootPath(digest), environment, workdir, user }
  }

  async #share(name: string, source: TemplateSource, force: boolean, options: ResolveOptions): Promise<Template> {
    let task = this.#building.get(name)
    if (task === undefined || task.abandoned) {
      const started = new SharedTask(async (signal, progress) => {
        try {
          return await this.#buildOnce(name, source, force, progress, signal)
        } finally {
          if (this.#building.get(name) === started) this.#building.delete(name)
        }
      })
      task = started
      this.#building.set(name, started)
    }
    return await task.wait(options.signal, options.onProgress)
  }

  async #buildOnce(
    name: string,
    source: TemplateSource,
    force: boolean,
    progress: Progress = () => undefined,
    signal: AbortSignal = NEVER,
  ): Promise<Template> {
    const fileName = fileNameOf(name)
    await using _lock = await BuildLock.acquire(this.#locks, fileName, signal, () =>
      progress(`${name}: another process is building it; waiting`),
    )
    const stored = force ? null : await this.#stored(name, source)
    if (stored !== null) return stored
    const identity = await source.identity()
    await using workspace = await this.#workspace(fileName)
    const has = async (digest: string): Promise<boolean> => await exists(this.#rootPath(digest))
    const built = await buildFrom(name, source, { workspace: workspace.path, progress, signal, has })
    const { digest, environment, workdir, user } = built
    // Held until the name is written, so that `remove` of another name cannot take the root in between.
    await using _roots = await BuildLock.acquire(this.#locks, 'roots', signal, () => undefined)
    if (built.root !== null) await this.#publish(built.root, digest)
    const record = { name, identity, digest, environment, workdir, user, builtAt: new Date().toISOString() }
    await this.#records.write(record)
    return this.#templateOf(record)
  }

  /** The root appears in one step. An existing one with the same digest is as good, and somebody may be using it. */
  async #publish(root: string, digest: string): Promise<void> {
    await mkdir(this.#roots, { recursive: true })
    if (!(await exists(this.#rootPath(digest)))) await rename(root, this.#rootPath(digest))
  }

  /** The caller holds the lock of this name, so what an earlier build left there belongs to a dead process. */
  async #workspace(fileName: string): Promise<AsyncDisposable & { readonly path: string }> {
    await mkdir(this.#workspaces, { recursive: true, mode: 0o700 })
    for (const entry of await readdir(this.#workspaces)) {
      if (entry.startsWith(`${fileName}.`)) await rm(join(this.#workspaces, entry), { recursive: true, force: true })
    }
    const path = join(this.#workspaces, `${fileName}.${randomBytes(6).toString('hex')}`)
    await mkdir(path)
    return { path, [Symbol.asyncDispose]: async () => await rm(path, { recursive: true, force: true }) }
  }
}

/** Moves it out of sight first, so that a crash leaves no half root under its digest. */
async function removeTree(path: string, trash: string): Promise<void> {
  await mkdir(trash, { recursive: true, mode: 0o700 })
  const target = join(trash, `removed.${randomBytes(6).toString('hex')}`)
  await rename(path, target)
  await rm(target, { recursive: true, force: true })
}

async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  )
}
