import { isIP } from 'node:net'
import { HearthError } from '@hearth/sdk'
import { dialectsOfConfiguration, policyOfWords, type ServeOptions } from '@hearth/server'

type Dialects = NonNullable<ServeOptions['dialects']>

/**
 * Other vendors' APIs that the server speaks: what `--dialect` names, or nothing for `none`. Without it all of them, on loopback alone and
 * only where their ports are free.
 */
export function dialectsOf(given: readonly string[], host = '127.0.0.1'): Dialects {
  if (given.length === 0) return dialectsOfConfiguration({}, host)
  if (given.includes('none')) {
    if (given.length === 1) return {}
    throw wrong('none stands alone')
  }
  const chosen = given.map(parseDialect)
  const dialects: Dialects = Object.assign({}, ...chosen) as Dialects
  if (Object.keys(dialects).length < given.length) throw wrong('one is given more than once')
  return dialects
}

/** Webhooks are E2B's: networks for them without its dialect would do nothing. */
export function withNetworks({ e2b, ...others }: Dialects, networks: readonly string[]): Dialects {
  if (networks.length === 0) return e2b === undefined ? others : { e2b, ...others }
  const refused = networks.find((network) => !isNetwork(network))
  const why = e2b === undefined ? 'needs the dialect e2b' : refused === undefined ? null : `${refused} is no network`
  if (e2b === undefined || why !== null) {
    throw new HearthError('invalid_request', `--webhook-network: ${why ?? ''}`, {
      suggestion: 'Give a network such as 10.0.0.0/8 or fd00::/8.',
    })
  }
  return { e2b: { ...e2b, webhooks: { ...e2b.webhooks, networks: [...networks] } }, ...others }
}

/** What sandboxes of dialects and their template builds may reach when they name nothing. */
export function withReach(dialects: Dialects, given: readonly string[]): Dialects {
  if (given.length === 0) return dialects
  if (Object.keys(dialects).length === 0) {
    throw new HearthError('invalid_request', '--dialect-allow: needs a dialect')
  }
  const words = given.flatMap((text) => text.split(',')).filter((word) => word !== '')
  return { ...dialects, policy: policyOfWords(words, '--dialect-allow') }
}

function isNetwork(text: string): boolean {
  const [address = '', prefix = ''] = text.split('/')
  const family = isIP(address)
  return family !== 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128)
}

function parseDialect(text: string): Dialects {
  const match = /^(e2b|pandastack)(?:=(\d{1,5})(?:,([a-z0-9.-]{1,253}(?::\d{1,5})?))?)?$/i.exec(text)
  const name = match?.[1]?.toLowerCase()
  if (name !== 'e2b' && name !== 'pandastack') throw wrong(`${text} is no dialect`)
  const [, , given, domain] = match ?? []
  const port = given === undefined ? {} : { port: Number(given) }
  if (Number(given ?? 0) > 65_535) throw wrong(`${given ?? ''} is no port`)
  if (name === 'pandastack' && domain !== undefined) throw wrong('pandastack has no domain')
  const settings =
    name === 'e2b' ? { e2b: { ...port, ...(domain === undefined ? {} : { domain }) } } : { pandastack: port }
  return dialectsOfConfiguration({ e2b: false, pandastack: false, ...settings })
}

function wrong(why: string): HearthError {
  return new HearthError('invalid_request', `--dialect: ${why}`, {
    suggestion: 'Give e2b=PORT, e2b=PORT,DOMAIN, pandastack=PORT or none.',
  })
}
