import { lstatSync, mkdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { imageInvalid } from './image-error.ts'

const MAXIMUM_LINKS = 40

/** The components of a name in an archive. A leading slash means the root of the archive; `..` is refused. */
export function safeComponents(name: string): string[] {
  const components = name.split('/').filter((part) => part !== '' && part !== '.')
  if (components.includes('..'))
    throw imageInvalid(`the entry ${JSON.stringify(name)} leads out of the image`, { name })
  return components
}

/**
 * Finds real directories below a root, following links as a process inside would: an absolute link starts at the root, and
 * `..` does not go above it.
 *
 * SAFETY: the answer is a path without links below the root, so that what is done in it stays in the root. It is found by
 * looking, not held open; that suffices because the root has one writer, the unpacker, and nobody else can see it yet.
 */
export class ScopedDirectories {
  readonly #root: string
  readonly #known = new Map<string, string>()

  constructor(root: string) {
    this.#root = root
  }

  /** The real directory of the components; null when it is missing and not to be made. */
  resolve(components: readonly string[], create: boolean): string | null {
    const key = components.join('/')
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const found = this.#walk(components, create)
    if (found !== null) this.#known.set(key, found)
    return found
  }

  /** Must be called when a directory or a link was removed or replaced. */
  forget(): void {
    this.#known.clear()
  }

  #walk(components: readonly string[], create: boolean): string | null {
    const pending = components.toReversed()
    const trail: string[] = []
    let links = 0
    for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
      if (name === '..') {
        trail.pop()
        continue
      }
      const path = join(this.#root, ...trail, name)
      const status = lstatSync(path, { throwIfNoEntry: false })
      if (status?.isSymbolicLink() === true) {
        if (++links > MAXIMUM_LINKS)
          throw imageInvalid('the links of the image go in circles', { path: components.join('/') })
        const target = readlinkSync(path)
        if (target.startsWith('/')) trail.length = 0
        pending.push(
          ...target
            .split('/')
            .filter((part) => part !== '' && part !== '.')
            .toReversed(),
        )
        continue
      }
      if (status === undefined) {
        if (!create) return null
        mkdirSync(path, { mode: 0o755 })
      } else if (!status.isDirectory()) {
        if (!create) return null
        throw imageInvalid(`the entry ${components.join('/')} lies below a file`, { path: components.join('/') })
      }
      trail.push(name)
    }
    return join(this.#root, ...trail)
  }
}
