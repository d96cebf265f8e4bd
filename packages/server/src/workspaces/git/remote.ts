import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { HearthError, parseSshAddress, sshUrl } from '@hearth/contract'
import { mayDial } from '@hearth/engine/dial'

/** Where a repository is, in a form that git takes for nothing else. */
export interface Remote {
  readonly protocol: 'https' | 'http' | 'ssh' | 'file'
  /** A URL without credentials, what `scp` would write for a path that begins at home, or an absolute path. */
  readonly address: string
  /** Null for a path. */
  readonly host: string | null
  readonly port: number
}

const LOOPBACK = ['127.0.0.0/8', '::1/128'] as const
/** Every network, also private ones. */
export const ANYWHERE = ['0.0.0.0/0', '::/0'] as const

/** SAFETY: one spelling alone gets to git. No other protocol, no options, no credentials, nothing that names a second place. */
export function parseRemote(location: {
  readonly url?: string | undefined
  readonly path?: string | undefined
}): Remote {
  const { url, path } = location
  if (path !== undefined) return { protocol: 'file', address: path, host: null, port: 0 }
  const ssh = parseSshAddress(url ?? '')
  if (ssh !== null) return { protocol: 'ssh', address: sshUrl(ssh), host: ssh.host, port: ssh.port }
  const parsed = URL.parse(url ?? '')
  // `git://` says neither who answers nor that nobody changes it on the way.
  if (parsed === null || !/^https?:$/.test(parsed.protocol))
    throw refused('url: must begin with https:// or ssh://, or be like git@host:path')
  if (parsed.username !== '' || parsed.password !== '')
    throw refused('url: must not have credentials in it; store them as a secret and name that')
  if (parsed.search !== '' || parsed.hash !== '') throw refused('url: must not have a query or a fragment')
  const host = parsed.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  if (!/^[a-z0-9_:][a-z0-9_.:-]*$/.test(host) || parsed.pathname === '/') throw refused('url: must name a repository')
  const protocol = parsed.protocol === 'https:' ? 'https' : 'http'
  if (protocol === 'http' && !isLoopback(host)) throw refused('url: must begin with https://')
  return { protocol, address: parsed.href, host, port: Number(parsed.port) || (protocol === 'https' ? 443 : 80) }
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || (isIP(host) !== 0 && mayDial(host, LOOPBACK) && !mayDial(host, []))
}

/** The address that shall be connected to: what was checked is what is dialed. */
export async function dialable(host: string, anywhere: boolean): Promise<string> {
  const found = isIP(host) === 0 ? await addressesOf(host) : [host]
  const usable = found.find((address) => mayDial(address, anywhere ? ANYWHERE : []))
  if (usable !== undefined) return usable
  throw new HearthError('repository_unreachable', `${host} has no public address`, {
    context: { host },
    suggestion: 'Only an operator may use repositories in private networks.',
  })
}

async function addressesOf(host: string): Promise<string[]> {
  try {
    return (await lookup(host, { all: true, order: 'ipv4first' })).map(({ address }) => address)
  } catch (cause) {
    throw new HearthError('repository_unreachable', `${host} has no address`, { cause, context: { host } })
  }
}

function refused(message: string): HearthError {
  return new HearthError('invalid_request', message, { context: { field: 'url' } })
}
