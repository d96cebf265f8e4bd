import { TAR_END, tarHeader, tarPadding } from '@hearth/engine/tar'
import { requireInside } from '../../builds/recipe.ts'

/** The files that came with a Dockerfile, by their paths. */
export class ContextFiles {
  readonly #files = new Map<string, Buffer>()

  set(path: string, content: Buffer): void {
    this.#files.set(requireInside(normal(path)), content)
  }

  /** Those that a source names: a file, a directory with all that is in it, or a pattern. */
  matching(source: string): readonly string[] {
    const paths = [...this.#files.keys()]
    if (source === '.') return paths
    const parts = source.split('/').map((part) =>
      part
        .replaceAll(/[.+^$()|[\]{}\\]/g, '\\$&')
        .replaceAll('*', '[^/]*')
        .replaceAll('?', '[^/]'),
    )
    const pattern = new RegExp(`^${parts.join('/')}(/|$)`)
    return paths.filter((path) => pattern.test(path))
  }

  /** As a tar. */
  async *archive(paths: readonly string[]): AsyncGenerator<Uint8Array, void> {
    const rights = { target: '', mode: 0o644, uid: 0, gid: 0, modifiedMs: Date.now() }
    for (const path of paths) {
      const content = this.#files.get(path) ?? Buffer.alloc(0)
      yield tarHeader({ path, type: 'file', size: content.length, ...rights })
      yield content
      yield tarPadding(content.length)
    }
    yield TAR_END
  }
}

/** A context is its own root: `/a`, `./a` and `a` are the same. */
export function normal(path: string): string {
  const plain = path.replace(/^(?:\.?\/)+/, '').replace(/\/+$/, '')
  return plain === '' ? '.' : plain
}
