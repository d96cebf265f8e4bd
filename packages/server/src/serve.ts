import { randomBytes } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { HearthError, type Policy, type Quotas } from '@hearth/contract'
import { Hearth, hostPaths, type HearthOptions } from '@hearth/engine'
import pino, { type Logger } from 'pino'
import type { DialectListening } from './dialects/dialect.ts'
import { Builds } from './dialects/builds/builds.ts'
import { e2bDialect, type E2bOptions } from './dialects/e2b/e2b-dialect.ts'
import { RootPreparation } from './dialects/builds/root-preparation.ts'
import { pandastackDialect, type PandaStackOptions } from './dialects/pandastack/pandastack-dialect.ts'
import { ensureOperatorKey, type KeyReason } from './http/access/first-key.ts'
import { InsideConnections } from './http/access/inside.ts'
import type { HttpLimits } from './http/limits.ts'
import { createServer, type HttpServer } from './http/server.ts'
import { LocalControlPlane, type LocalControlPlaneOptions } from './lifecycle/local-control-plane.ts'
import { engineOptions } from './record/engine-options.ts'
import { runService } from './runs/run-service.ts'
import { openState, type State } from './open-state.ts'
import type { Store } from './state/index.ts'
import { otlpFromEnvironment, type OtlpOptions } from './record/otlp-exporter.ts'

export const DEFAULT_PORT = 7070

export interface ServeOptions {
  /** All state of this server. Default `HEARTH_HOME` or `~/.hearth`. */
  readonly home?: string
  /** `sqlite:PATH` or `postgres://...`. Default: `hearth.db` in the home. */
  readonly database?: string
  /** Encrypts secrets and signs records: 32 bytes in hex or base64. Default: `HEARTH_SECRET_KEY`, which wins over it, or a file in the home. */
  readonly secretKey?: string
  /** Of new tenants, where they are others than usual. */
  readonly quotas?: Partial<Quotas>
  /** Makes another key of an operator, for somebody who has lost theirs. Default false; without any that works one is made anyway. */
  readonly newKey?: boolean
  /** Default 127.0.0.1. Elsewhere than on loopback only when there is a key. */
  readonly host?: string
  /** Default 7070; 0 for a free one. */
  readonly port?: number
  /** Domain below which previews have their host names. Default `localhost`. */
  readonly previewDomain?: string
  /**
   * Where clients reach this server when a proxy stands before it, such as `https://hearth.example.com`: links and forwarded headers say so. Without
   * a `previewDomain` links are paths below it.
   */
  readonly publicUrl?: string
  /** Other vendors' APIs over the same sandboxes, keys and limits, each on a port of its own. Default none. */
  readonly dialects?: {
    readonly e2b?: E2bOptions
    readonly pandastack?: PandaStackOptions
    /** What their sandboxes that name nothing, and their template builds, may reach. Default nothing. */
    readonly policy?: Policy
  }
  readonly limits?: Partial<HttpLimits>
  /** Here a pool is on by default; `pool: false` turns it off. */
  readonly engine?: Omit<HearthOptions, 'home'>
  /** Tries all rungs while it already listens, so that no create waits for that. Default true. */
  readonly prepare?: boolean
  readonly lifecycle?: Partial<Omit<LocalControlPlaneOptions, 'store' | 'hearth' | 'records' | 'onProblem'>>
  /** A collector of OpenTelemetry that is told the record too. Default: what `OTEL_EXPORTER_OTLP_ENDPOINT` says. */
  readonly telemetry?: OtlpOptions | null
  /** Default: lines of JSON on standard output. */
  readonly logger?: Logger
  /** Of the default logger. Default `info`. */
  readonly logLevel?: 'debug' | 'info' | 'warn' | 'error' | 'silent'
}

/** A server that runs. */
export interface Server extends AsyncDisposable {
  /** For example `http://127.0.0.1:7070`. */
  readonly url: string
  /** Where dialects listen, by name. */
  readonly dialects: Readonly<Record<string, string>>
  readonly home: string
  /**
   * The key that this start made, and the file in which it is kept for the command line. Null for none: a key of an operator works, and
   * no other was asked for.
   */
  readonly firstKey: { readonly token: string; readonly reason: KeyReason; readonly path: string } | null
  /** Calls under way have this long to end. Sandboxes live on, and the next start finds them. Idempotent. */
  stop(options?: { readonly graceMs?: number }): Promise<void>
}

/** Opens the state, takes up what runs, and listens. */
export async function serve(options: ServeOptions = {}): Promise<Server> {
  const logger = options.logger ?? pino({ level: options.logLevel ?? 'info' })
  const { home } = hostPaths(options.home === undefined ? process.env : { ...process.env, HEARTH_HOME: options.home })
  await mkdir(home, { recursive: true, mode: 0o700 })
  const onProblem = (what: string, error: unknown): void =>
    logger.warn({ event: 'lifecycle.problem', what, err: error })
  const telemetry = options.telemetry ?? otlpFromEnvironment(process.env)
  const { database, secretKey, quotas } = options
  const keep = options.lifecycle?.housekeeping?.events?.maximumPerSandbox
  const { store, records, exporter, onEvents } = await openState({
    home,
    database,
    secretKey,
    quotas,
    keep,
    telemetry,
    logger,
    onProblem,
  })
  await using undo = new AsyncDisposableStack()
  undo.defer(async () => await exporter?.close())
  undo.defer(() => store.close())
  const inside = new InsideConnections()
  const hearth = new Hearth({ pool: {}, ...engineOptions(store, records, inside), onProblem, ...options.engine, home })
  undo.defer(() => hearth.release())
  const plane = await LocalControlPlane.open({ ...options.lifecycle, store, hearth, records, onProblem })
  undo.defer(() => plane.close())
  const firstKey = await makeKey(home, store, options.newKey === true, logger)
  const linkSecret = await keptSecret(join(home, 'link-secret'))
  const { policy = null } = options.dialects ?? {}
  const builds = new Builds(plane, store.templateBuilds, { policy, logger })
  const roots = new RootPreparation(hearth, logger)
  const endBuilds = async (): Promise<void> => void (await Promise.all([roots.close(), builds.close()]))
  undo.defer(endBuilds)
  const server = createServer({
    controlPlane: plane,
    keys: store.apiKeys,
    events: store.events,
    tenants: store.tenants,
    secrets: store.secrets,
    runs: runService(store),
    logger,
    inside,
    ready: () => requireWorking(store, hearth),
    dropped: countDropped(onEvents),
    linkSecret,
    dialects: dialectsOf(options, { linkSecret, store, builds, roots, home, onEvents }),
    listen: { host: options.host ?? '127.0.0.1', port: options.port ?? DEFAULT_PORT },
    ...(options.limits === undefined ? {} : { limits: options.limits }),
    ...(options.previewDomain === undefined ? {} : { previewDomain: options.previewDomain }),
    ...(options.publicUrl === undefined ? {} : { publicUrl: options.publicUrl }),
  })
  await server.start()
  const prepared = options.prepare === false ? Promise.resolve() : prepare(hearth, logger)
  const stop = stopping(server, prepared, undo.move())
  return { url: server.url, dialects: server.dialects, home, firstKey, stop, [Symbol.asyncDispose]: () => stop() }
}

/** Creates need both. Who asks may be anybody, so that the reason is for the log alone. */
async function requireWorking(store: Store, hearth: Hearth): Promise<void> {
  await store.ping()
  await hearth.open().catch((cause: unknown) => {
    throw new HearthError('engine_unavailable', 'the engine cannot be opened; the log has the reason', { cause })
  })
}

/** Entries that the record is missing, by the reason that it gives. */
function countDropped(onEvents: State['onEvents']): () => Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  onEvents((events) => {
    for (const { type, data } of events) {
      if (type !== 'record.dropped') continue
      const { reason = 'unknown', count = 0 } = data as { readonly reason?: string; readonly count?: number }
      counts[reason] = (counts[reason] ?? 0) + count
    }
  })
  return () => counts
}

interface DialectParts {
  readonly linkSecret: Uint8Array
  readonly store: Store
  readonly builds: Builds
  readonly roots: RootPreparation
  readonly home: string
  readonly onEvents: State['onEvents']
}

function dialectsOf({ dialects = {} }: ServeOptions, parts: DialectParts): DialectListening[] {
  const { linkSecret: secret, store, builds, roots, home, onEvents } = parts
  const { sandboxes, webhooks, notes } = store
  const { e2b, pandastack, policy = null } = dialects
  const buildFiles = join(home, 'build-files')
  const speaking: DialectListening[] = []
  if (e2b !== undefined)
    speaking.push(e2bDialect(e2b, { secret, sandboxes, webhooks, notes, builds, roots, policy, buildFiles, onEvents }))
  if (pandastack !== undefined)
    speaking.push(pandastackDialect(pandastack, { builds, roots, policy, sandboxes, notes }))
  return speaking
}

/** The key that this start has to make, if any, where the command line looks for it. */
async function makeKey(home: string, store: Store, anew: boolean, logger: Logger): Promise<Server['firstKey']> {
  const path = join(home, 'key')
  const made = await ensureOperatorKey(store, { anew, keep: (token) => replacePrivately(path, `${token}\n`) })
  if (made === null) return null
  const { token, reason } = made
  logger.warn({ event: 'server.key_made', reason, path })
  return { token, reason, path }
}

/** What listens first, then all that it uses: each of them, whatever becomes of the others. */
function stopping(server: HttpServer, prepared: Promise<void>, parts: AsyncDisposableStack): Server['stop'] {
  let closing: Promise<void> | null = null
  return async (options = {}) => {
    try {
      await server.stop(options)
      // What is being tried would be left behind.
      await prepared
    } finally {
      await (closing ??= parts.disposeAsync())
    }
  }
}

/** What is not found out here, the first create finds out, and reports. */
async function prepare(hearth: Hearth, logger: Logger): Promise<void> {
  try {
    await hearth.rungs()
    await hearth.warm()
  } catch (error) {
    logger.warn({ event: 'server.prepare', err: error })
  }
}

/** Readable by nobody else, and never half written. */
async function replacePrivately(path: string, content: string): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}`
  await writeFile(temporary, content, { mode: 0o600, flag: 'wx', flush: true })
  await rename(temporary, path)
}

/** Made once, so that links outlive a restart. The lock of the home keeps other servers away meanwhile. */
async function keptSecret(path: string): Promise<Uint8Array> {
  const found = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (found === null) {
    const secret = randomBytes(32)
    await writeFile(path, secret, { mode: 0o600, flag: 'wx', flush: true })
    return secret
  }
  if (found.length >= 32) return found
  throw new HearthError('internal', `${path} is damaged`, {
    suggestion: 'Remove it: all signed links end, and a new one is made.',
  })
}
