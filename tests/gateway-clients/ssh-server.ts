import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePort } from '../../packages/engine/src/testing/free-port.ts'

const PROGRAM = '/usr/sbin/sshd'
const START_MS = 10_000

/** A real sshd on the loopback that runs one command whatever is asked, for whoever has the key. */
export class SshServer implements AsyncDisposable {
  readonly port: number
  /** The private key of the client, and the line of `known_hosts` for a name. */
  readonly key: string
  readonly #hostKey: string
  readonly #directory: string
  readonly #server: ChildProcess

  private constructor(directory: string, port: number, key: string, hostKey: string, server: ChildProcess) {
    this.port = port
    this.key = key
    this.#hostKey = hostKey
    this.#directory = directory
    this.#server = server
  }

  static async start(): Promise<SshServer> {
    const directory = await mkdtemp(join(tmpdir(), 'hearth-ssh-'))
    const [hostKey, clientKey] = [join(directory, 'host'), join(directory, 'client')]
    for (const file of [hostKey, clientKey])
      await promisify(execFile)('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file])
    const authorized = join(directory, 'authorized')
    await copyFile(`${clientKey}.pub`, authorized)
    await chmod(authorized, 0o600)
    const port = await freePort()
    const config = join(directory, 'sshd_config')
    await writeFile(
      config,
      [
        `ListenAddress 127.0.0.1:${port}`,
        `HostKey ${hostKey}`,
        `AuthorizedKeysFile ${authorized}`,
        'PasswordAuthentication no',
        'StrictModes no',
        'UsePAM no',
        `PidFile ${join(directory, 'pid')}`,
        `ForceCommand echo "kindled $SSH_ORIGINAL_COMMAND"; wc -c`,
      ].join('\n'),
    )
    // It wants to be able to lock itself up there.
    if (userInfo().uid === 0) await mkdir('/run/sshd', { recursive: true, mode: 0o755 })
    const server = spawn(PROGRAM, ['-D', '-e', '-f', config], { stdio: 'ignore' })
    const started = new SshServer(
      directory,
      port,
      await readFile(clientKey, 'utf8'),
      (await readFile(`${hostKey}.pub`, 'utf8')).split(' ').slice(0, 2).join(' '),
      server,
    )
    await answers(port)
    return started
  }

  knownAs(name: string): string {
    return `[${name}]:${this.port} ${this.#hostKey}\n`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#server, 'exit')
    this.#server.kill()
    await ended
    await rm(this.#directory, { recursive: true, force: true })
  }
}

async function answers(port: number): Promise<void> {
  const deadline = Date.now() + START_MS
  for (;;) {
    const socket = connect(port, '127.0.0.1')
    const there = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'close').then(() => false),
    ]).catch(() => false)
    socket.destroy()
    if (there) return
    if (Date.now() > deadline) throw new Error('sshd did not start')
    await sleep(20)
  }
}
