import { HearthError, parseSshAddress, sshUrl } from '@hearth/contract'
import { git } from '@hearth/engine/git'
import type { CallOptions, Hearth, WorkspaceSource } from '@hearth/sdk'
import { httpsOfSsh } from './https-of-ssh.ts'
import { gitDirectory } from './local-branch.ts'

/** Where a local repository comes from, at the commit that is checked out here: what others have of it, and nothing of what lies here alone. */
export async function originOf(hearth: Hearth, repository: string, call: CallOptions = {}): Promise<WorkspaceSource> {
  const directory = await gitDirectory(repository)
  const ask = async (words: readonly string[], problem: string, suggestion: string): Promise<string> => {
    const failure = (): HearthError => new HearthError('invalid_request', `${repository} ${problem}`, { suggestion })
    return (await git(words, { directory, failure })).toString('utf8').trim()
  }
  const address = await ask(
    ['config', '--local', '--get', 'remote.origin.url'],
    'has no remote `origin` that a pull request could go to',
    'Name the repository by its URL: --repo https://...',
  )
  const ref = await ask(
    ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}'],
    'has no commit to begin from',
    'Make one and push it first.',
  )
  return { ...((await knownWithSsh(hearth, address, call)) ?? locationOfRemote(address)), ref }
}

/** One that somebody has made known to the server with its address of ssh, and a key. */
async function knownWithSsh(hearth: Hearth, address: string, call: CallOptions): Promise<{ url: string } | null> {
  const ssh = parseSshAddress(address)
  if (ssh === null) return null
  const url = sshUrl(ssh)
  return (await hearth.repositories.list(call)).some((known) => known.url === url) ? { url } : null
}

/** What the server can reach without having been told more: forges that are spoken to with ssh speak https, too. Credentials never leave this machine. */
export function locationOfRemote(address: string): { url: string } | { path: string } {
  if (address.startsWith('/')) return { path: address }
  const url = URL.parse(address)
  if (url?.protocol === 'file:') return { path: decodeURIComponent(url.pathname) }
  if (url?.protocol === 'https:' || url?.protocol === 'http:') {
    Object.assign(url, { username: '', password: '' })
    return { url: url.href }
  }
  const https = httpsOfSsh(address)
  if (https !== null) return { url: https }
  throw new HearthError('invalid_request', 'the remote `origin` is no address that a server can reach', {
    suggestion: 'Name the repository by its URL: --repo https://...',
  })
}
