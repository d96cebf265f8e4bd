import { HearthError, nameMatches, type Secret } from '@hearth/contract'
import { dialable, type Remote } from './remote.ts'

/** What a call of git needs to speak to a remote. */
export interface Reach {
  readonly protocols: readonly string[]
  readonly configuration: readonly string[]
  readonly confidential: readonly (readonly [key: string, value: string])[]
  readonly environment: Readonly<Record<string, string>>
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
  /** Private addresses too. */
  readonly anywhere: boolean
  /** A file that lets git read repositories of other users of the host. */
  readonly ownersFile: string
}

/** SAFETY: the secret is in the environment of git alone: not in its arguments, not in a file, not in the URL. */
export async function reachOf(remote: Remote, { secret, anywhere, ownersFile }: ReachOptions): Promise<Reach> {
  if (remote.host === null) {
    const environment = { GIT_CONFIG_GLOBAL: ownersFile }
    return { protocols: ['file'], configuration: CONFIGURATION, confidential: [], environment }
  }
  const address = await dialable(remote, anywhere)
  const pinned = `http.curloptResolve=${remote.host}:${remote.port}:${address?.includes(':') ? `[${address}]` : address}`
  return {
    protocols: [remote.protocol],
    configuration: [...CONFIGURATION, pinned],
    confidential: secret === null ? [] : [['http.extraHeader', authorization(remote.host, secret)]],
    environment: {},
  }
}

function authorization(host: string, secret: Secret): string {
  requireBound(host, secret)
  return `Authorization: Basic ${Buffer.from(`${USER}:${secret.value}`).toString('base64')}`
}

/** Whoever stored it decided where it may go. */
export function requireBound(host: string | null, { name, binding }: Pick<Secret, 'name' | 'binding'>): void {
  if (host !== null && binding.placement.in === 'basic' && nameMatches(binding.name, host)) return
  throw new HearthError(
    'repository_denied',
    `secret ${name} is not bound to ${host ?? 'paths of this host'} with basic`,
    {
      context: { secret: name },
    },
  )
}
