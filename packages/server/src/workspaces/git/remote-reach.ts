import { HearthError, nameMatches, type Secret } from '@hearth/contract'
import { dialable, type Remote } from './remote.ts'
import { sshReach, type KnownServer } from './ssh-reach.ts'

/** What one call of git needs to speak to a remote. To be disposed of after the call. */
export interface Reach extends AsyncDisposable {
  readonly protocols: readonly string[]
  readonly configuration: readonly string[]
  readonly confidential: readonly (readonly [key: string, value: string])[]
  readonly environment: Readonly<Record<string, string>>
  /** To be called when the call has succeeded. */
  readonly settle: () => Promise<void>
}

/** Forges take any name beside a token; this is the one that GitHub documents. */
const USER = 'x-access-token'
/** A server that sends less than this many bytes a second for so long is given up. */
const SLOWEST = { bytes: 1000, seconds: 30 } as const

const CONFIGURATION = [
  // A redirect could lead to where nobody has checked, with the credentials.
  'http.followRedirects=false',
  `http.lowSpeedLimit=${SLOWEST.bytes}`,
  `http.lowSpeedTime=${SLOWEST.seconds}`,
  'http.proxy=',
  'http.emptyAuth=false',
  'fetch.fsckObjects=true',
  'fetch.unpackLimit=1',
  'fetch.writeCommitGraph=false',
  'push.recurseSubmodules=no',
  'push.followTags=false',
] as const

export interface ReachOptions {
  readonly secret: Secret | null
  /** How the server is known that is spoken to with ssh. */
  readonly server: KnownServer
  /** Private addresses too. */
  readonly anywhere: boolean
  /** A file that lets git read repositories of other users of the host. */
  readonly ownersFile: string
}

const NOTHING_HELD = { settle: async () => undefined, [Symbol.asyncDispose]: async () => undefined } as const

/** SAFETY: a token is in the environment of git alone: not in its arguments, not in a file, not in the URL. A key of ssh: see there. */
export async function reachOf(remote: Remote, options: ReachOptions): Promise<Reach> {
  const { secret, anywhere, ownersFile, server } = options
  const common = { protocols: [remote.protocol], configuration: CONFIGURATION, confidential: [], ...NOTHING_HELD }
  if (remote.host === null) return { ...common, environment: { GIT_CONFIG_GLOBAL: ownersFile } }
  if (remote.protocol === 'ssh' && secret === null) throw needsKey(remote)
  if (secret !== null) requireBound(remote, secret)
  const address = await dialable(remote.host, anywhere)
  if (remote.protocol === 'ssh') return { ...common, ...(await sshReach(remote, address, secret as Secret, server)) }
  const pinned = `http.curloptResolve=${remote.host}:${remote.port}:${address.includes(':') ? `[${address}]` : address}`
  return {
    ...common,
    configuration: [...CONFIGURATION, pinned],
    confidential: secret === null ? [] : [['http.extraHeader', authorization(secret)]],
    environment: {},
  }
}

function authorization(secret: Secret): string {
  return `Authorization: Basic ${Buffer.from(`${USER}:${secret.value}`).toString('base64')}`
}

/** Whoever stored it decided where it may go. */
export function requireBound({ protocol, host }: Remote, { name, binding }: Pick<Secret, 'name' | 'binding'>): void {
  const place = protocol === 'ssh' ? 'ssh' : 'basic'
  if (host !== null && binding.placement.in === place && nameMatches(binding.name, host)) return
  const message = `secret ${name} is not bound to ${host ?? 'paths of this host'} with ${place}`
  throw new HearthError('repository_denied', message, {
    context: { secret: name },
    ...(protocol === 'ssh' ? { suggestion: keyAdvice(host) } : {}),
  })
}

/** Nobody else's keys are ever used, least of all those of whoever runs the server. */
export function needsKey({ host, address }: Remote): HearthError {
  return new HearthError('invalid_request', `${address}: an address of ssh needs a secret with a key`, {
    context: { field: 'secret' },
    suggestion: keyAdvice(host),
  })
}

export function keyAdvice(host: string | null): string {
  return `Store a private key that the server knows, with \`hearth secret set NAME --for ${host ?? 'HOST'} --ssh < KEYFILE\`, and name it with \`--secret NAME\` at \`hearth repo add\`; or use the https address.`
}
