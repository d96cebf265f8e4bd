import type { IncomingMessage } from 'node:http'
import { HearthError, type LinkForm } from '@hearth/contract'
import type { Services } from '../app-env.ts'
import { LINK_PARAMETER, LINK_PATH } from './headers.ts'
import { previewHost, type PreviewTarget } from './preview-host.ts'

const DEFAULT_DOMAIN = 'localhost'
const DOMAIN = /^(?=.{1,190}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/

/** How clients reach this server, which may be behind a proxy that speaks TLS. */
export interface PublicAddress {
  /** Below it previews have their host names, each one label more. */
  readonly domain: string
  /** Where the API is for clients elsewhere; null where that is the address on which it listens. */
  readonly url: URL | null
  /** Of the listener. */
  readonly port: () => number
  /** What a link is made of unless it is asked for otherwise. */
  readonly form: LinkForm
}

/** Reads what an operator said. A public address alone has no host names below it, so that links are paths then. */
export function publicAddress(
  options: { readonly previewDomain?: string; readonly publicUrl?: string },
  port: () => number,
): PublicAddress {
  const { previewDomain, publicUrl } = options
  const url = publicUrl === undefined ? null : originOf(publicUrl)
  const domain = domainOf(previewDomain ?? DEFAULT_DOMAIN)
  return { domain, url, port, form: previewDomain === undefined && url !== null ? 'path' : 'host' }
}

function originOf(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url !== null && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`) return url
  throw new HearthError(
    'invalid_request',
    'publicUrl: must be http:// or https://, a host, a port or none, and no path',
    {
      suggestion: 'For example `hearth up --public-url https://hearth.example.com`.',
    },
  )
}

function domainOf(text: string): string {
  const domain = text.toLowerCase().replace(/^\*?\./, '')
  if (DOMAIN.test(domain)) return domain
  throw new HearthError('invalid_request', 'previewDomain: must be a domain like preview.example.com', {
    suggestion: 'The names below it, `*.preview.example.com`, must lead to this server.',
  })
}

/** The protocol that clients speak with this server or with the proxy before it. */
export function publicScheme({ url }: PublicAddress): 'http' | 'https' {
  return url?.protocol === 'https:' ? 'https' : 'http'
}

/** What a program is told as the host that its client has called. */
export function publicHost({ url }: PublicAddress, incoming: IncomingMessage): string {
  return url?.host ?? incoming.headers.host ?? ''
}

/** The address of a signed link. */
export function linkUrl(
  { preview, inside }: Pick<Services, 'preview' | 'inside'>,
  { target, token, form = preview.form }: { target: PreviewTarget; token: string; form?: LinkForm | undefined },
  incoming: IncomingMessage,
): string {
  if (form === 'path') {
    // Who calls has reached this server by that name; one that calls from inside a sandbox has reached it by a name that nobody else knows.
    const called = inside.sandboxOf(incoming) === null ? incoming.headers.host : undefined
    const origin = preview.url?.origin ?? `http://${called ?? `localhost:${preview.port()}`}`
    return `${origin}${LINK_PATH}${token}/`
  }
  // No proxy stands before names below localhost.
  const url = preview.domain === DEFAULT_DOMAIN ? null : preview.url
  const port = url === null ? String(preview.port()) : url.port
  const host = `${previewHost(target, preview.domain)}${port === '' ? '' : `:${port}`}`
  return `${url?.protocol ?? 'http:'}//${host}/?${LINK_PARAMETER}=${token}`
}
