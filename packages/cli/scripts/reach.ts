import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Sources } from './sources.ts'

/** `from '...'`, `import '...'`, `import('...')`, and `new URL('...', import.meta.url)` of code. */
const IMPORTS = /(\bfrom |\bimport |\bimport\(|\bnew URL\((?='\.\/[^']*\.ts'))(['"])([^'"\n]+)\2/g

export interface Reached {
  /** The files that are used, with imports that lead to each other. */
  readonly files: ReadonlyMap<string, string>
  /** Packages that are used. */
  readonly outside: readonly string[]
}

/** What these files import, and what that imports. */
export function reach(
  folder: string,
  entries: readonly string[],
  leftOut: readonly string[],
  sources: Sources,
): Reached {
  const files = new Map<string, string>()
  const outside = new Set<string>()
  const pending = [...entries]
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (files.has(name)) continue
    const from = name
    if (!existsSync(join(folder, from))) throw new Error(`${from} is imported, and was not compiled`)
    const text = readFileSync(join(folder, from), 'utf8')
    files.set(
      from,
      text.replace(IMPORTS, (whole: string, before: string, quote: string, specifier: string, at: number) => {
        if (inComment(text, at)) return whole
        const target = sources.find(from, specifier)
        if (target === null) return whole
        if ('outside' in target) {
          outside.add(target.outside)
          return whole
        }
        if (!leftOut.some((path) => target.file.startsWith(path))) pending.push(target.file)
        return before + quote + sources.specifier(from, target.file) + quote
      }),
    )
  }
  return { files, outside: [...outside] }
}

/** Examples in comments import too. */
function inComment(text: string, at: number): boolean {
  const line = text.slice(text.lastIndexOf('\n', at - 1) + 1, at)
  return /^\s*(\*|\/\/|\/\*)/.test(line)
}
