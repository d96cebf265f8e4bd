import { HearthError, parseSshAddress, plainKey, sshHostName, type Secret } from '@hearth/contract'
import { findProgram, TIED } from '@hearth/engine/git'
import { NamelessFile } from './nameless-file.ts'
import type { Remote } from './remote.ts'

/** How the server that is spoken to is known. */
export interface KnownServer {
  /** The keys that it may have; null when it is spoken to for the first time. */
  readonly keys: readonly string[] | null
  /** Told the key that it had, when that was the first time. */
  readonly learn: (key: string) => Promise<void>
}

/** What git needs to speak to a server with ssh, for one call. */
export interface SshReach extends AsyncDisposable {
  readonly environment: Readonly<Record<string, string>>
  /** To be called when the call has succeeded. */
  readonly settle: () => Promise<void>
}

/** A list of known hosts with one key in it. */
const MOST_KNOWN_BYTES = 16 * 1024
const CONNECT_SECONDS = 30
/** A connection that gives no sign of life for four times so long is given up. */
const ALIVE_SECONDS = 15

/** Whatever else a user or a host may have configured, and whatever a server may offer: nothing of it happens. */
const FIXED = {
  BatchMode: 'yes',
  PreferredAuthentications: 'publickey',
  PasswordAuthentication: 'no',
  KbdInteractiveAuthentication: 'no',
  HostbasedAuthentication: 'no',
  GSSAPIAuthentication: 'no',
  IdentitiesOnly: 'yes',
  IdentityAgent: 'none',
  AddKeysToAgent: 'no',
  PKCS11Provider: 'none',
  ForwardAgent: 'no',
  ForwardX11: 'no',
  ClearAllForwardings: 'yes',
  Tunnel: 'no',
  PermitLocalCommand: 'no',
  ProxyCommand: 'none',
  ProxyJump: 'none',
  ControlMaster: 'no',
  ControlPath: 'none',
  CanonicalizeHostname: 'no',
  VerifyHostKeyDNS: 'no',
  UpdateHostKeys: 'no',
  KnownHostsCommand: 'none',
  GlobalKnownHostsFile: 'none',
  HashKnownHosts: 'no',
  CheckHostIP: 'no',
  NoHostAuthenticationForLocalhost: 'no',
  RequestTTY: 'no',
  EscapeChar: 'none',
  Compression: 'no',
  ConnectionAttempts: '1',
  ConnectTimeout: String(CONNECT_SECONDS),
  ServerAliveInterval: String(ALIVE_SECONDS),
  ServerAliveCountMax: '3',
  LogLevel: 'ERROR',
} as const

/**
 * SAFETY: the key lies in a file without a name that this process holds open for the length of the call. No directory, argument or variable
 * ever has it, and no sandbox sees the processes of the host. `ssh` reads no configuration, asks no agent, and connects to the address that was
 * checked without looking the name up again, whose key it nevertheless compares by the name.
 */
export async function sshReach(
  remote: Remote,
  address: string,
  secret: Secret,
  server: KnownServer,
): Promise<SshReach> {
  const program = await findProgram('ssh')
  if (program === null) throw new HearthError('ssh_missing', 'this host has no program `ssh`')
  const name = hostNameOf(remote)
  await using files = new AsyncDisposableStack()
  const key = files.use(await NamelessFile.holding(plainKey(secret.value)))
  const lines = (server.keys ?? []).map((each) => `${name} ${each}\n`)
  const known = files.use(await NamelessFile.holding(lines.join('')))
  const options = {
    ...FIXED,
    HostName: address,
    HostKeyAlias: name,
    IdentityFile: key.path,
    UserKnownHostsFile: known.path,
    StrictHostKeyChecking: server.keys === null ? 'accept-new' : 'yes',
  }
  const words = Object.entries(options).flatMap(([option, value]) => ['-o', `${option}=${value}`])
  const held = files.move()
  return {
    environment: {
      GIT_SSH_COMMAND: shellWords(['exec', ...TIED, program, '-F', 'none', '-T', ...words]),
      GIT_SSH_VARIANT: 'ssh',
    },
    settle: async () => {
      if (server.keys !== null) return
      const [, learned] = (await known.read(MOST_KNOWN_BYTES)).split('\n', 1)[0]?.match(/^\S+ (\S+ \S+)$/) ?? []
      if (learned === undefined) throw new HearthError('internal', `the key of ${name} was not written down by ssh`)
      await server.learn(learned)
    },
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  }
}

/** How its keys are called. */
export function hostNameOf(remote: Remote): string {
  const address = parseSshAddress(remote.address)
  if (address === null) throw new HearthError('internal', `${remote.address} is no address of ssh`)
  return sshHostName(address)
}

function shellWords(words: readonly string[]): string {
  return words
    .map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`)
    .join(' ')
    .replace(/^'exec'/, 'exec')
}
