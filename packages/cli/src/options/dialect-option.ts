import { HearthError } from '@hearth/sdk'
import type { ServeOptions } from '@hearth/server'

const DEFAULT_E2B_PORT = 7071
const LOOPBACK = new Set(['127.0.0.1', '::1', 'localhost'])

/**
 * Other vendors' APIs that the server speaks: what `--dialect` names, or nothing for `none`. Without it E2B's, on loopback alone and only
 * where its port is free.
 */
export function dialectsOf(given: readonly string[], host = '127.0.0.1'): NonNullable<ServeOptions['dialects']> {
  if (given.length === 0) return LOOPBACK.has(host) ? { e2b: { port: DEFAULT_E2B_PORT, optional: true } } : {}
  if (given.includes('none')) {
    if (given.length === 1) return {}
    throw wrong('none stands alone')
  }
  const [only, ...others] = given
  if (others.length > 0) throw wrong('e2b is given more than once')
  const match = /^e2b(?:=(\d{1,5})(?:,([a-z0-9.-]{1,253}(?::\d{1,5})?))?)?$/i.exec(only ?? '')
  if (match === null) throw wrong(`${only ?? ''} is no dialect`)
  const [, port = String(DEFAULT_E2B_PORT), domain] = match
  if (Number(port) > 65_535) throw wrong(`${port} is no port`)
  return { e2b: { port: Number(port), ...(domain === undefined ? {} : { domain }) } }
}

function wrong(why: string): HearthError {
  return new HearthError('invalid_request', `--dialect: ${why}`, {
    suggestion: 'Give e2b=PORT, e2b=PORT,DOMAIN or none.',
  })
}
