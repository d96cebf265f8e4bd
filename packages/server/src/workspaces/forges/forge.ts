import { HearthError, type Forge, type ForgeKind } from '@hearth/contract'

const KNOWN: Readonly<Record<string, ForgeKind>> = { 'github.com': 'github', 'gitlab.com': 'gitlab' }

/** Where the API is that makes pull requests of a repository, and how the repository is called there. */
export interface ForgePlace {
  readonly kind: ForgeKind
  readonly api: URL
  /** Decoded, for example `owner/name`. */
  readonly project: string
}

/** Null for a host that is not known: then somebody has to say which it is. */
export function recogniseForge(remoteUrl: string): Forge | null {
  const kind = KNOWN[URL.parse(remoteUrl)?.hostname ?? '']
  return kind === undefined ? null : { kind }
}

/** `invalid_request` for a remote that cannot be one of that forge. */
export function placeOf(forge: Forge | null, remoteUrl: string): ForgePlace {
  const url = URL.parse(remoteUrl)
  const known = forge ?? recogniseForge(remoteUrl)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw unusable('pull requests need a repository with an https URL')
  if (known === null)
    throw unusable(
      `which forge ${url.hostname} is, is not known`,
      'Add the repository with `--forge github` or `gitlab`.',
    )
  const project = projectOf(url, known.kind)
  return { kind: known.kind, project, api: apiOf(known, url) }
}

function projectOf(url: URL, kind: ForgeKind): string {
  let path: string
  try {
    path = decodeURIComponent(url.pathname)
      .replace(/^\/+/, '')
      .replace(/\/+$/, '')
      .replace(/\.git$/, '')
  } catch (cause) {
    throw unusable('the path of the repository is no text', undefined, cause)
  }
  const names = path.split('/')
  const plain = names.every((name) => /^[\w.-]+$/.test(name) && name !== '.' && name !== '..')
  if (!plain || names.length < 2 || (kind === 'github' && names.length > 2))
    throw unusable(`${url.pathname} is not the path of a repository there`)
  return path
}

function apiOf({ kind, apiUrl }: Forge, { protocol, host, hostname }: URL): URL {
  const usual = kind === 'gitlab' ? `${protocol}//${host}/api/v4` : `${protocol}//${host}/api/v3`
  const given = apiUrl ?? (hostname === 'github.com' ? 'https://api.github.com' : usual)
  const api = URL.parse(given)
  if (api === null || !/^https?:$/.test(api.protocol) || api.username !== '' || api.password !== '')
    throw unusable('apiUrl must be an http or https URL without credentials')
  return api
}

/** Something of the API: what is given is below its base, whatever that ends with. */
export function below(api: URL, path: string, query: Readonly<Record<string, string>> = {}): URL {
  const url = new URL(`${api.origin}${api.pathname.replace(/\/+$/, '')}${path}`)
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  return url
}

function unusable(message: string, suggestion?: string, cause?: unknown): HearthError {
  return new HearthError('invalid_request', message, { ...(suggestion === undefined ? {} : { suggestion }), cause })
}
