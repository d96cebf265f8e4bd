import { HearthError } from '@hearth/contract'
import { DIGEST } from './verified-stream.ts'

/** Where an image is. */
export interface ImageReference {
  /** Host and port. */
  readonly registry: string
  readonly repository: string
  readonly tag: string | null
  readonly digest: string | null
}

const HOST = /^(localhost|[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:]+\])(?::\d{1,5})?$/i
const REPOSITORY = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*$/
const TAG = /^\w[\w.-]{0,127}$/

/**
 * Reads `registry/name[:tag][@digest]`. The registry is always written: a name alone could come from anywhere.
 * Null when the name has no registry, so that it is no image name at all.
 */
export function parseImageReference(name: string): ImageReference | null {
  const slash = name.indexOf('/')
  const registry = slash === -1 ? '' : name.slice(0, slash)
  if (!HOST.test(registry) || !(registry.includes('.') || registry.includes(':') || registry === 'localhost'))
    return null
  const [path = '', digest = null, ...more] = name.slice(slash + 1).split('@')
  const colon = path.indexOf(':')
  const repository = colon === -1 ? path : path.slice(0, colon)
  const tag = colon === -1 ? null : path.slice(colon + 1)
  const isValid =
    REPOSITORY.test(repository) &&
    repository.length <= 255 &&
    (tag === null || TAG.test(tag)) &&
    (digest === null || DIGEST.test(digest)) &&
    more.length === 0
  if (!isValid)
    throw new HearthError('template_not_found', `${JSON.stringify(name)} is not the name of an image`, {
      context: { name },
    })
  return { registry, repository, tag: tag === null && digest === null ? 'latest' : tag, digest }
}

/** Registries on this machine speak plain HTTP, as every client of registries assumes; others must speak HTTPS. */
export function registryUrl({ registry, repository }: ImageReference): string {
  return `${isLocal(registry) ? 'http' : 'https'}://${registry}/v2/${repository}`
}

/** Whether a registry, with a port or without, is on this machine. */
export function isLocal(registry: string): boolean {
  return isLocalHost(registry.replace(/:\d+$/, ''))
}

export function isLocalHost(host: string): boolean {
  return host === 'localhost' || /^127(\.\d{1,3}){3}$/.test(host) || host === '[::1]'
}
