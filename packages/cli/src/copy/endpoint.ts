import { HearthError } from '@hearth/sdk'

/** One side of a copy, as it is written on the command line. */
export type Endpoint =
  | { readonly kind: 'standard' }
  | { readonly kind: 'local'; readonly path: string }
  | { readonly kind: 'remote'; readonly sandbox: string; readonly path: string }

/** `-`, `ID:PATH` or a local path. A local path with a colon is written with a slash before it, as for scp(1). */
export function parseEndpoint(text: string): Endpoint {
  if (text === '-') return { kind: 'standard' }
  const colon = text.indexOf(':')
  const slash = text.indexOf('/')
  if (colon < 1 || (slash !== -1 && slash < colon)) return { kind: 'local', path: text }
  const path = text.slice(colon + 1)
  if (path.startsWith('/')) return { kind: 'remote', sandbox: text.slice(0, colon), path }
  throw new HearthError('invalid_request', `${JSON.stringify(text)}: a path in a sandbox must be absolute`, {
    suggestion: 'Write ID:/path; a local file whose name has a colon is written ./name.',
  })
}
