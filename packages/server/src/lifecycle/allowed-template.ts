import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { HearthError, type Scope } from '@hearth/contract'
import type { Hearth } from '@hearth/engine'
import { mayDial } from '@hearth/engine/dial'

/** So long a registry that had a public address is not looked up again. */
const KEPT_MS = 60_000
const MOST_KEPT = 1000

const publicSince = new Map<string, number>()

/**
 * Whether a key may name this template. A file of the host as a template, and a registry in the host's own networks, are for operators:
 * the host would read the one and call the other for anybody who can make a sandbox. What an operator has built is for all.
 */
export async function requireAllowedTemplate(
  { templates }: Pick<Hearth, 'templates'>,
  scopes: ReadonlySet<Scope>,
  template: string | undefined,
): Promise<void> {
  if (template === undefined || scopes.has('operator')) return
  const reason = await whyForOperators(template)
  if (reason === null || (await templates.list()).some(({ name }) => name === template)) return
  throw forOperators(template, `${reason} needs a key with the scope operator, unless an operator has built it`)
}

/** Whether a key may have this image pulled with credentials: its registry is called whoever has built the image before. */
export async function requireAllowedRegistry(scopes: ReadonlySet<Scope>, image: string): Promise<void> {
  const reason = scopes.has('operator') ? null : await whyForOperators(image)
  if (reason !== null) throw forOperators(image, `${reason} needs a key with the scope operator`)
}

function forOperators(template: string, message: string): HearthError {
  return new HearthError('forbidden', message, { context: { scope: 'operator', template: template.slice(0, 200) } })
}

async function whyForOperators(template: string): Promise<string | null> {
  if (template.startsWith('archive:')) return 'a file of the host as a template'
  const slash = template.indexOf('/')
  if (slash <= 0) return null
  const host = hostOf(template.slice(0, slash))
  return (await isPublicHost(host)) ? null : `an image from ${host}, which has no public address,`
}

async function isPublicHost(host: string): Promise<boolean> {
  if (performance.now() - (publicSince.get(host) ?? -Infinity) < KEPT_MS) return true
  const addresses = isIP(host) === 0 ? await addressesOf(host) : [host]
  if (addresses.length === 0 || !addresses.every((address) => mayDial(address, []))) return false
  if (publicSince.size >= MOST_KEPT) publicSince.clear()
  publicSince.set(host, performance.now())
  return true
}

function hostOf(registry: string): string {
  return registry
    .replace(/:\d+$/, '')
    .replace(/^\[|\]$/g, '')
    .toLowerCase()
}

/** A name that leads nowhere is refused like one that leads inside: the difference would tell which names the host's networks know. */
async function addressesOf(host: string): Promise<readonly string[]> {
  return await lookup(host, { all: true }).then(
    (found) => found.map(({ address }) => address),
    () => [],
  )
}
