import { createHash, randomBytes } from 'node:crypto'
import { HearthError, type RegistryCredentials } from '@hearth/contract'
import type { DirectoryTemplate } from './template.ts'

/** How handles begin; no name of a template does. */
const PREFIX = 'private:'

/** What a private pull needs beside the image. */
export interface PrivateImage {
  readonly name: string
  readonly credentials: RegistryCredentials
}

/** An image that was pulled for one who has its credentials. Dispose when something lies on it, or nothing is to. */
export interface PrivatePull extends AsyncDisposable {
  /** Names it, in this process and until it is disposed of. Nobody guesses it. */
  readonly handle: string
}

/** The images of private pulls that are in use, by handle. */
export class PrivatePulls {
  readonly #pulled = new Map<string, DirectoryTemplate>()

  add(template: DirectoryTemplate): string {
    const handle = `${PREFIX}${randomBytes(16).toString('hex')}`
    this.#pulled.set(handle, template)
    return handle
  }

  /** Null for a name that is no handle. */
  get(name: string): DirectoryTemplate | null {
    if (!name.startsWith(PREFIX)) return null
    const template = this.#pulled.get(name)
    if (template !== undefined) return template
    throw new HearthError('template_not_found', 'this private image is not in use any more')
  }

  remove(handle: string): void {
    this.#pulled.delete(handle)
  }

  digests(): string[] {
    return [...this.#pulled.values()].map(({ digest }) => digest)
  }
}

/** Unlike that of the image, which somebody without its credentials may know, so that nobody else comes to the same root. */
export function privateDigest(imageDigest: string): string {
  return `sha256:${createHash('sha256').update(randomBytes(32)).update(imageDigest).digest('hex')}`
}
