import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chown, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)

const START_TIMEOUT_MS = 60_000

/** No listener but a socket in its own directory, and no waiting for disks: the data lives as long as the tests. */
const SETTINGS = [
  ['listen_addresses', ''],
  ['fsync', 'off'],
  ['full_page_writes', 'off'],
  ['max_connections', '60'],
  ['shared_buffers', '16MB'],
  ['autovacuum', 'off'],
] as const

/** A private Postgres for tests, from the programs that the distribution installs, run by an unprivileged user. */
export class PostgresCluster implements AsyncDisposable {
  readonly #directory: string
  readonly #server: ChildProcess
  #databases = 0

  private constructor(directory: string, server: ChildProcess) {
    this.#directory = directory
    this.#server = server
  }

  static async start(): Promise<PostgresCluster> {
    const programs = await findPrograms()
    if (programs === null) throw new Error('no Postgres is installed')
    const directory = await mkdtemp(join(tmpdir(), 'hearth-pg-'))
    try {
      const user = await unprivilegedUser()
      if (user !== null) await chown(directory, user.uid, user.gid)
      const data = join(directory, 'data')
      const initdb = [
        join(programs, 'initdb'),
        '-D',
        data,
        '-U',
        'hearth',
        '-A',
        'trust',
        '-E',
        'UTF8',
        '--locale=C',
        '-N',
      ]
      const [program = '', ...rest] = asUser(user, initdb)
      await run(program, rest, { cwd: directory })
      const settings = [...SETTINGS, ['unix_socket_directories', directory]].flatMap(([key, value]) => [
        '-c',
        `${key}=${value}`,
      ])
      const server = startServer(asUser(user, [join(programs, 'postgres'), '-D', data, ...settings]), directory)
      const cluster = new PostgresCluster(directory, server)
      await cluster.#waitUntilReady(programs)
      return cluster
    } catch (error) {
      await rm(directory, { recursive: true, force: true })
      throw error
    }
  }

  async #waitUntilReady(programs: string): Promise<void> {
    const deadline = Date.now() + START_TIMEOUT_MS
    while (Date.now() < deadline && this.#server.exitCode === null) {
      const ready = await run(join(programs, 'pg_isready'), ['-q', '-h', this.#directory, '-U', 'hearth']).then(
        () => true,
        () => false,
      )
      if (ready) return
      await sleep(50)
    }
    await this.#stop()
    throw new Error('Postgres did not start')
  }

  /** The url of a database that does not exist before. `create` makes it, with a statement that the caller executes. */
  newDatabase(): { readonly url: string; readonly create: string; readonly admin: string } {
    const name = `hearth_${++this.#databases}`
    return { url: this.#url(name), create: `create database ${name}`, admin: this.#url('postgres') }
  }

  #url(database: string): string {
    return `postgres://hearth@localhost/${database}?host=${encodeURIComponent(this.#directory)}`
  }

  async #stop(): Promise<void> {
    if (this.#server.exitCode !== null || this.#server.signalCode !== null) return
    const ended = once(this.#server, 'exit')
    // A fast shutdown: it does not wait for clients.
    this.#server.kill('SIGINT')
    await ended
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop()
    await rm(this.#directory, { recursive: true, force: true })
  }
}

/** Why there can be no cluster here, or null. */
export async function whyNoPostgres(): Promise<string | null> {
  return (await findPrograms()) === null ? 'no Postgres is installed: apt-get install postgresql' : null
}

/** Debian keeps one directory for each major version, outside of the path. The newest is taken. */
async function findPrograms(): Promise<string | null> {
  const versions = await readdir('/usr/lib/postgresql').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  const newest = versions.toSorted((left, right) => Number(right) - Number(left))[0]
  return newest === undefined ? null : join('/usr/lib/postgresql', newest, 'bin')
}

interface User {
  readonly uid: number
  readonly gid: number
}

/** Postgres refuses to be run by root. */
async function unprivilegedUser(): Promise<User | null> {
  if (userInfo().uid !== 0) return null
  const { stdout } = await run('getent', ['passwd', 'postgres'])
  const [, , uid, gid] = stdout.split(':')
  return { uid: Number(uid), gid: Number(gid) }
}

/** The signal on the death of the parent ends the server even when the tests are killed. */
function asUser(user: User | null, command: readonly string[]): string[] {
  const identity = user === null ? [] : [`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups']
  return ['setpriv', '--pdeathsig=INT', ...identity, ...command]
}

function startServer(command: readonly string[], directory: string): ChildProcess {
  const [program = '', ...rest] = command
  return spawn(program, rest, { cwd: directory, stdio: 'ignore' })
}
