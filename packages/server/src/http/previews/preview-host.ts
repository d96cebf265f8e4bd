import type { IncomingMessage } from 'node:http'
import type { Services } from '../app-env.ts'

/** What a host name of a preview says. */
export interface PreviewTarget {
  readonly sandbox: string
  readonly port: number
}

/** `api` for every host that is none of ours to interpret; `unknown` for one below the domain of previews that names nothing. */
export type HostKind =
  | { readonly kind: 'api' }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'preview'; readonly target: PreviewTarget }

const LABEL = /^(\d{1,5})-sb[_-]([0-9a-hjkmnp-tv-z]{20})$/

/** Exact by construction: one label in front of the domain, a port that exists, an identifier of a sandbox, and nothing else. */
export function parseHost(header: string | undefined, domain: string): HostKind {
  const host = (header ?? '').toLowerCase().replace(/:\d{1,5}$/, '')
  if (!host.endsWith(`.${domain}`)) return { kind: 'api' }
  const [, port = '', id = ''] = LABEL.exec(host.slice(0, -domain.length - 1)) ?? []
  const number = Number(port)
  if (id === '' || number < 1 || number > 65_535 || port !== String(number)) return { kind: 'unknown' }
  return { kind: 'preview', target: { sandbox: `sb_${id}`, port: number } }
}

/** What a request is for. Sandboxes reach the API alone, whatever the domain of previews is. */
export function hostOf({ inside, preview }: Pick<Services, 'inside' | 'preview'>, incoming: IncomingMessage): HostKind {
  const { host } = incoming.headers
  // The API may have a name below the domain of previews.
  if (inside.sandboxOf(incoming) !== null || host === preview.url?.host) return { kind: 'api' }
  return parseHost(host, preview.domain)
}

/** A host name in which every client accepts every character: identifiers have an underscore, host names must not. */
export function previewHost(target: PreviewTarget, domain: string): string {
  return `${target.port}-${target.sandbox.replace('_', '-')}.${domain}`
}
