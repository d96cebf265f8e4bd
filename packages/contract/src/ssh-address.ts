import { HearthError } from './errors.ts'

/** A repository that is spoken to with ssh. */
export interface SshAddress {
  readonly user: string
  /** A name, or an address without brackets. */
  readonly host: string
  readonly port: number
  /** As the server is asked for it. Without a slash at its beginning it is looked for in the home of the user there. */
  readonly path: string
}

export const SSH_PORT = 22
/** What every forge calls the one who speaks git. The name of whoever runs the server is nobody's business. */
const USER = 'git'
/** Where a path means the same with and without a slash at its beginning and `.git` at its end. */
const FORGES: ReadonlySet<string> = new Set(['github.com', 'gitlab.com', 'bitbucket.org'])

const HOST = String.raw`\[[^\]]*\]|[^\s:/@[\]]+`
const URL_FORM = new RegExp(`^(?:ssh|git\\+ssh|ssh\\+git)://(?:([^@/]*)@)?(${HOST})(?::(\\d*))?(/.*)$`, 'is')
/** As `scp` writes it. Without a user it needs a dot in its host: `name:path` may be anything. */
const SCP_FORM = new RegExp(`^(?:([^@/:]*)@(${HOST})|([\\w-]+(?:\\.[\\w-]+)+)):(?!//)(.*)$`, 's')

/** Null for what is no address of ssh; `invalid_request` for one that is none that may be used. SAFETY: nothing of it can be taken for an option, by no program. */
export function parseSshAddress(text: string): SshAddress | null {
  const url = URL_FORM.exec(text)
  if (url !== null) {
    const [, user, host = '', port, path = ''] = url
    return checked(user, host, port, decoded(path))
  }
  if (/^(ssh|git\+ssh|ssh\+git):/i.test(text)) throw refused('must be like ssh://git@host/path')
  const scp = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? null : SCP_FORM.exec(text)
  if (scp === null) return null
  const [, user, host, bare, path = ''] = scp
  return checked(user, host ?? bare ?? '', undefined, path)
}

/** One spelling for all of the same repository. */
export function sshUrl({ user, host, port, path }: SshAddress): string {
  const place = host.includes(':') ? `[${host}]` : host
  // A URL cannot say that a path begins at home, unless with a tilde.
  if (!/^[/~]/.test(path)) return `${user}@${place}:${path}`
  const encoded = path.split('/').map(encodeURIComponent).join('/')
  return `ssh://${user}@${place}${port === SSH_PORT ? '' : `:${port}`}${path.startsWith('/') ? '' : '/'}${encoded}`
}

/** How the keys of its server are called in lists of known hosts. */
export function sshHostName({ host, port }: Pick<SshAddress, 'host' | 'port'>): string {
  return port === SSH_PORT ? host : `[${host}]:${port}`
}

function checked(user: string | undefined, place: string, port: string | undefined, given: string): SshAddress {
  if (user?.includes(':') === true) throw refused('must not have a password in it')
  if (user !== undefined && !/^[A-Za-z0-9_][A-Za-z0-9_.+-]{0,63}$/.test(user))
    throw refused('has a user that is no name')
  const number = port === undefined ? SSH_PORT : Number(port)
  if (number < 1 || number > 65_535) throw refused('has a port that is none')
  const host = hostOf(place)
  return { user: user ?? USER, host, port: number, path: pathOf(given, FORGES.has(host)) }
}

function hostOf(place: string): string {
  const lower = place.toLowerCase()
  const host = lower.startsWith('[') ? lower.slice(1, -1) : lower.replace(/\.$/, '')
  const isHost = lower.startsWith('[')
    ? /^[0-9a-f:.]{2,45}$/.test(host) && host.includes(':')
    : /^[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9_])?$/.test(host)
  if (!isHost) throw refused('has a host that is none')
  return host
}

function pathOf(given: string, isForge: boolean): string {
  // eslint-disable-next-line no-control-regex
  if (/[\x00-\x1f\x7f-\x9f\\?#]/.test(given)) throw refused('has characters in its path that no repository has')
  const plain = given.replaceAll(/\/{2,}/g, '/').replace(/(?<=.)\/$/, '')
  // A tilde is that of the user's home, which is written after a slash in a URL.
  const path = plain.replace(/^\/~/, '~')
  // git takes a tilde for that of a home also when it comes second.
  if (path === '' || path === '/' || /^(?:[-:]|[^/]~)/.test(path)) throw refused('must name a repository')
  return isForge && !path.startsWith('~') ? `/${path.replace(/^\//, '').replace(/\.git$/, '')}` : path
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch (cause) {
    throw refused('has a path that is no text', cause)
  }
}

function refused(problem: string, cause?: unknown): HearthError {
  return new HearthError('invalid_request', `url: the address of ssh ${problem}`, { cause, context: { field: 'url' } })
}
