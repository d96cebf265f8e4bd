import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Hearth as Engine } from '@hearth/engine'
import { takeInventory } from '../../tests/support/inventory.ts'
import type { ServerMemory, Serving } from './soak-server.ts'
import type { Footprint } from './verdict.ts'

/** Tables whose rows come and go with sandboxes. */
const TABLES = ['sandboxes', 'sandbox_metadata', 'operations', 'events', 'event_drops'] as const

/** The server under test, and all that can be counted of it from outside. */
export class SoakedServer implements AsyncDisposable {
  readonly home: string
  readonly url: string
  readonly key: string
  readonly #child: ChildProcess
  readonly #database: DatabaseSync

  private constructor(home: string, child: ChildProcess, serving: Serving) {
    this.home = home
    this.url = serving.url
    this.key = serving.key
    this.#child = child
    this.#database = new DatabaseSync(join(home, 'hearth.db'), { readOnly: true })
  }

  static async start(): Promise<SoakedServer> {
    const home = await mkdtemp(join(tmpdir(), 'hearth-soak-'))
    const program = join(import.meta.dirname, 'soak-server.ts')
    const child = fork(program, [home], { execArgv: ['--expose-gc'], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    const ended = once(child, 'exit').then(() => {
      throw new Error('the server ended before it listened')
    })
    const [serving] = (await Promise.race([once(child, 'message'), ended])) as [Serving]
    return new SoakedServer(home, child, serving)
  }

  async footprint(): Promise<Footprint> {
    this.#child.send('measure')
    const [memory] = (await once(this.#child, 'message')) as [ServerMemory]
    const { mounts, emptyCgroups, directories } = takeInventory(this.home)
    const rows = TABLES.map((table) => this.#count(table))
    return {
      ...memory,
      descriptors: readdirSync(`/proc/${this.#child.pid}/fd`).length,
      threads: Number(/^Threads:\s+(\d+)/m.exec(readFileSync(`/proc/${this.#child.pid}/status`, 'utf8'))?.[1]),
      mounts: mounts.length,
      emptyCgroups,
      directories: directories.length,
      rows: rows.reduce((sum, count) => sum + count, 0),
    }
  }

  #count(table: (typeof TABLES)[number]): number {
    return Number(this.#database.prepare(`select count(*) as count from ${table}`).get()?.['count'])
  }

  /** Ends the server and every sandbox of its home. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#database.close()
    if (this.#child.exitCode === null) {
      this.#child.kill('SIGTERM')
      await once(this.#child, 'exit')
    }
    const engine = new Engine({ home: this.home, spareKeepers: 0 })
    for (const { id } of await engine.survey()) await engine.discard(id)
    await engine.dispose()
    await rm(this.home, { recursive: true, force: true })
  }
}
