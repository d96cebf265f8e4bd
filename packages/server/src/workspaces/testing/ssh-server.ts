// For tests: a real sshd, and what it can be made to do.
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePort } from '../../../../engine/src/testing/free-port.ts'

const PROGRAM = '/usr/sbin/sshd'
const START_MS = 10_000

/** A key as `ssh-keygen` makes it. */
export async function makeKey(passphrase = ''): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'hearth-key-'))
  const file = join(directory, 'key')
  try {
    await promisify(execFile)('ssh-keygen', ['-q', '-t', 'ed25519', '-N', passphrase, '-f', file])
    return await readFile(file, 'utf8')
  } finally {
    await rm(directory, { recursive: true })
  }
}

interface Started {
  readonly directory: string
  readonly port: number
  readonly key: string
  readonly hostKey: string
  readonly server: ChildProcess
}

/** A real sshd on the loopback that runs one command whatever is asked, for whoever has the key. */
export class SshServer implements AsyncDisposable {
  readonly port: number
  /** The private key of the client. */
  readonly key: string
  /** The public key of the server. */
  readonly hostKey: string
  /** Who may log in: sshd can let in nobody but its own user, unless it is root's. */
  readonly user = userInfo().username
  readonly #directory: string
  readonly #server: ChildProcess

  private constructor({ directory, port, key, hostKey, server }: Started) {
    this.port = port
    this.key = key
    this.hostKey = hostKey
    this.#directory = directory
    this.#server = server
  }

  /** Serves the repositories below a directory, as forges do: whatever is asked is looked for there. What was asked is in `asked.log` there. */
  static async ofRepositories(
    root: string,
    options: { readonly port?: number; readonly key?: string } = {},
  ): Promise<SshServer> {
    const serve = join(root, 'serve.sh')
    const ask = `sed "s#'/#'./#; s#'~/#'./#"`
    await writeFile(
      serve,
      `#!/bin/sh\ncd ${root}\necho "$SSH_ORIGINAL_COMMAND" >>asked.log\nexec sh -c "$(echo "$SSH_ORIGINAL_COMMAND" | ${ask})"\n`,
      { mode: 0o755 },
    )
    return await SshServer.start({ command: serve, ...options })
  }

  /** `port`: where another one has been, which knew the same `key`. */
  static async start({
    command = `echo "kindled $SSH_ORIGINAL_COMMAND"; wc -c`,
    port: wanted,
    key,
  }: { readonly command?: string; readonly port?: number; readonly key?: string } = {}): Promise<SshServer> {
    const directory = await mkdtemp(join(tmpdir(), 'hearth-ssh-'))
    const [hostKey, clientKey] = [join(directory, 'host'), join(directory, 'client')]
    for (const [file, content] of [[hostKey], [clientKey, key]] as const)
      await writeFile(file, content ?? (await makeKey()), { mode: 0o600 })
    const publicKey = async (file: string): Promise<string> =>
      (await promisify(execFile)('ssh-keygen', ['-y', '-f', file])).stdout.split(' ').slice(0, 2).join(' ').trim()
    const authorized = join(directory, 'authorized')
    await writeFile(authorized, `${await publicKey(clientKey)}\n`, { mode: 0o600 })
    const port = wanted ?? (await freePort())
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
        'AcceptEnv GIT_PROTOCOL',
        'MaxStartups 100',
        `ForceCommand ${command}`,
      ].join('\n'),
    )
    // It wants to be able to lock itself up there.
    if (userInfo().uid === 0) await mkdir('/run/sshd', { recursive: true, mode: 0o755 })
    const server = spawn(PROGRAM, ['-D', '-e', '-f', config], { stdio: 'ignore' })
    const made = { directory, port, server, key: await readFile(clientKey, 'utf8'), hostKey: await publicKey(hostKey) }
    await answers(port)
    return new SshServer(made)
  }

  knownAs(name: string): string {
    return `[${name}]:${this.port} ${this.hostKey}\n`
  }

  /** Of a repository there. */
  urlOf(path: string, host = '127.0.0.1'): string {
    return `ssh://${this.user}@${host}:${this.port}/${path}`
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
