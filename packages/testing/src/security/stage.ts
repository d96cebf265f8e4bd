import { spawn, type ChildProcess } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Holds things that processes hold: an environment, a shared memory segment, a key, an open directory; notes a signal. */
const VICTIM = `
import ctypes, os, signal, sys, time
stage, secret, key = sys.argv[1], os.environ["STAGE_SECRET"].encode(), int(sys.argv[2])
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
directory = os.open(stage, os.O_RDONLY)
segment = libc.shmget(key, 4096, 0o1666)
address = libc.shmat(segment, None, 0)
ctypes.memmove(address, secret, len(secret))
added = libc.syscall(248, b"user", sys.argv[3].encode(), secret, len(secret), -4)
def leave(*_):
    libc.shmctl(segment, 0, None)
    libc.syscall(250, 9, added, -4)
    os._exit(0)
signal.signal(signal.SIGTERM, leave)
signal.signal(signal.SIGUSR1, lambda *_: open(stage + "/signalled", "w").close())
print("ready", flush=True)
while True: time.sleep(0.05)
`

/** Things on the host that a sandbox must not reach. Real ones, so that the same scripts reach them without a sandbox. */
export class Stage {
  readonly directory = mkdtempSync(join(tmpdir(), 'hearth-stage-'))
  readonly secret = `secret-${randomBytes(8).toString('hex')}`
  readonly secretFile = join(this.directory, 'secret')
  readonly abstractName = `hearth-stage-${randomBytes(6).toString('hex')}`
  readonly socketPath = join(this.directory, 'host.sock')
  /** A file in the tools that the `host` template shows read-only. */
  readonly toolFile = `/usr/local/lib/hearth-stage-${randomBytes(6).toString('hex')}`
  readonly sharedFile = `/dev/shm/hearth-stage-${randomBytes(6).toString('hex')}`
  readonly memoryKey = randomBytes(4).readUInt32LE() & 0x7fffffff
  readonly keyName = `hearth-stage-${randomBytes(6).toString('hex')}`
  readonly #servers: Server[] = []
  #victim: ChildProcess | null = null
  #port = 0

  get port(): number {
    return this.#port
  }

  get victim(): number {
    return this.#victim?.pid ?? 0
  }

  /** The secret backwards: what is given to a script must not itself look like a find. */
  get reversedSecret(): string {
    return reversed(this.secret)
  }

  get signalled(): boolean {
    return existsSync(join(this.directory, 'signalled'))
  }

  get written(): boolean {
    return existsSync(join(this.directory, 'written'))
  }

  get toolChanged(): boolean {
    return this.isRoot && readFileSync(this.toolFile, 'utf8') !== 'tool'
  }

  readonly isRoot = process.getuid?.() === 0

  async open(): Promise<void> {
    chmodSync(this.directory, 0o777)
    writeFileSync(this.secretFile, this.secret)
    writeFileSync(this.sharedFile, this.secret)
    if (this.isRoot) writeFileSync(this.toolFile, 'tool', { mode: 0o666 })
    const tcp = this.#serve()
    await new Promise<void>((resolve) => tcp.listen(0, '127.0.0.1', resolve))
    const address = tcp.address()
    this.#port = typeof address === 'object' && address !== null ? address.port : 0
    await new Promise<void>((resolve) => this.#serve().listen(`\0${this.abstractName}`, resolve))
    await new Promise<void>((resolve) => this.#serve().listen(this.socketPath, resolve))
    chmodSync(this.socketPath, 0o777)
    await this.#startVictim()
  }

  /** Undoes what a control did, so that the attempts inside start from nothing. */
  reset(): void {
    for (const name of ['signalled', 'written']) rmSync(join(this.directory, name), { force: true })
    if (this.isRoot) {
      rmSync(this.toolFile, { force: true })
      writeFileSync(this.toolFile, 'tool', { mode: 0o666 })
    }
  }

  close(): void {
    // SIGTERM, so that it takes its key and its segment with it.
    this.#victim?.kill('SIGTERM')
    for (const server of this.#servers) server.close()
    for (const path of [this.directory, this.sharedFile, this.toolFile]) rmSync(path, { recursive: true, force: true })
  }

  #serve(): Server {
    const server = createServer((socket) => {
      socket.on('error', () => socket.destroy())
      socket.end(this.secret)
    })
    this.#servers.push(server)
    return server
  }

  async #startVictim(): Promise<void> {
    const parameters = ['-c', VICTIM, this.directory, String(this.memoryKey), this.keyName]
    const victim = spawn('/usr/bin/python3', parameters, {
      env: { STAGE_SECRET: this.secret },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    this.#victim = victim
    await new Promise<void>((resolve, reject) => {
      victim.stdout.once('data', () => resolve())
      victim.once('exit', () => reject(new Error('the victim of the stage did not start')))
    })
  }
}

export function digestOf(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex')
}

/** For text without characters beyond ASCII. */
export function reversed(value: string): string {
  return value.split('').toReversed().join('')
}
