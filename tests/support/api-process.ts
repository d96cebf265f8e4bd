import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Hearth as Engine } from '@hearth/engine'
import { Hearth, type HearthOptions } from '@hearth/sdk'
import { shareProbes } from '../../packages/server/src/lifecycle/shared-probes.ts'

const PROGRAM = join(import.meta.dirname, 'api-server.ts')

export interface ApiProcessOptions {
  /** The one processor on which the server and all that it starts may run. Default: any. */
  readonly core?: number
  /** Options of Node, for example `--expose-gc`. */
  readonly nodeOptions?: readonly string[]
  /** With a pool, as a server has one that nobody tells otherwise. Default: none. */
  readonly pool?: boolean
  /** Other vendors' APIs that it speaks, too. */
  readonly dialects?: readonly DialectName[]
}

type DialectName = 'e2b' | 'pandastack'

interface Serving {
  readonly url: string
  readonly key: string | null
  readonly dialects: Readonly<Record<string, string>>
}

/** A server with a home of its own in another process, which can be killed and started again at the same address. */
export class ApiProcess implements AsyncDisposable {
  readonly home: string
  readonly #options: ApiProcessOptions
  #child: ChildProcess | null = null
  #port = 0
  #key = ''
  #dialects: Readonly<Record<string, string>> = {}

  private constructor(home: string, options: ApiProcessOptions) {
    this.home = home
    this.#options = options
  }

  static async start(options: ApiProcessOptions = {}): Promise<ApiProcess> {
    const server = new ApiProcess(await mkdtemp(join(tmpdir(), 'hearth-api-')), options)
    await shareProbes(server.home)
    await server.start()
    return server
  }

  /** Of the server; only while it runs. */
  get pid(): number {
    const pid = this.#child?.pid
    if (pid === undefined) throw new Error('the server does not run')
    return pid
  }

  get key(): string {
    return this.#key
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  /** Where the dialect listens. */
  dialectUrl(name: DialectName): string {
    return this.#dialects[name] ?? ''
  }

  /** What a client elsewhere finds this server by. */
  get environment(): Record<string, string> {
    return { HEARTH_URL: this.url, HEARTH_API_KEY: this.#key }
  }

  client(options: HearthOptions = {}): Hearth {
    return new Hearth({ url: this.url, apiKey: this.#key, ...options })
  }

  async start(): Promise<void> {
    const { core, nodeOptions = [], pool = false, dialects = [] } = this.#options
    const node = [process.execPath, ...nodeOptions, PROGRAM, this.home, String(this.#port), ...dialects] as const
    const [program, ...args] = core === undefined ? node : (['taskset', '-c', String(core), ...node] as const)
    const environment = { ...process.env, HEARTH_POOL: pool ? '' : 'off' }
    const child = spawn(program, args, { env: environment, stdio: ['ignore', 'pipe', 'inherit'] })
    this.#child = child
    const lines = createInterface(child.stdout)
    const serving = await new Promise<Serving>((resolve, reject) => {
      lines.on('line', (line) => {
        const said = JSON.parse(line) as { serving?: Serving }
        if (said.serving !== undefined) resolve(said.serving)
      })
      lines.once('close', () => reject(new Error('the server ended before it listened')))
    })
    lines.close()
    // Its log comes on the same stream and must be read, or the server would wait.
    child.stdout.resume()
    this.#port = Number(new URL(serving.url).port)
    this.#key = serving.key ?? this.#key
    this.#dialects = serving.dialects
  }

  async kill(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
    const child = this.#child
    this.#child = null
    if (child === null || child.exitCode !== null) return
    child.kill(signal)
    await once(child, 'exit')
  }

  /** Ends the server and every sandbox of its home. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill('SIGTERM')
    const engine = new Engine({ home: this.home, spareKeepers: 0 })
    for (const { id } of await engine.survey()) await engine.discard(id)
    await engine.dispose()
    await rm(this.home, { recursive: true, force: true })
  }
}
