import { HearthError, nameMatches, parseSshAddress, type Secret } from '@hearth/contract'
import type { Remote } from '../git/remote.ts'

/** Names under which forges speak ssh where only the port of https is open. */
const WEB_NAMES: Readonly<Record<string, string>> = {
  'ssh.github.com': 'github.com',
  'altssh.gitlab.com': 'gitlab.com',
}
/** APIs at another name than the forge. */
const API_NAMES: Readonly<Record<string, string>> = { 'github.com': 'api.github.com' }

/** Where people find a repository, whatever git speaks to it. */
export function webUrl({ protocol, address }: Remote): string {
  const ssh = protocol === 'ssh' ? parseSshAddress(address) : null
  if (ssh === null) return address
  const host = WEB_NAMES[ssh.host] ?? ssh.host
  const path = ssh.path.split('/').map(encodeURIComponent).join('/')
  return `https://${host.includes(':') ? `[${host}]` : host}${path.startsWith('/') ? '' : '/'}${path}`
}

/** Whoever stored the token decided where it may go: to that host, and to the API of the forge that is there. */
export function requireForgeToken({ name, binding }: Pick<Secret, 'name' | 'binding'>, web: string, api: URL): void {
  const host = new URL(web).hostname
  const isItsApi = api.hostname === host || api.hostname === API_NAMES[host]
  const mayGo = nameMatches(binding.name, api.hostname) || (isItsApi && nameMatches(binding.name, host))
  if (binding.placement.in === 'basic' && mayGo) return
  throw new HearthError('repository_denied', `secret ${name} is not bound to ${api.hostname} with basic`, {
    context: { secret: name },
    suggestion: `Store a token with \`hearth secret set NAME --for ${api.hostname} --basic\`, and name it with \`--forge-secret NAME\` at \`hearth repo add\`.`,
  })
}
