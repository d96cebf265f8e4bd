import { readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { dirname, join, normalize, relative } from 'node:path'

/** Where a specifier leads: to a file of the build, or to a package that is installed beside it. */
export type Target = { readonly file: string } | { readonly outside: string } | null

/** Finds what compiled files import; names of files are relative to the build, which has the folders of the repository. */
export class Sources {
  readonly #root: string
  readonly #suffix: '.js' | '.d.ts'

  constructor(root: string, suffix: '.js' | '.d.ts') {
    this.#root = root
    this.#suffix = suffix
  }

  find(from: string, specifier: string): Target {
    if (specifier.startsWith('.')) return { file: this.#named(join(dirname(from), specifier)) }
    if (specifier.startsWith('node:') || builtinModules.includes(specifier)) return null
    const own = /^@hearth\/([^/]+)(\/.+)?$/.exec(specifier)
    if (own === null) return { outside: /^(@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier }
    const [, name = '', path = ''] = own
    const manifest = readFileSync(join(this.#root, 'packages', name, 'package.json'), 'utf8')
    const { exports } = JSON.parse(manifest) as { exports: Record<string, string> }
    const entry = exports[`.${path}`]
    if (entry === undefined) throw new Error(`${from} imports ${specifier}, which there is not`)
    return { file: this.#named(join('packages', name, entry)) }
  }

  /** As programs write it: declarations too are named as the code that they are of. */
  specifier(from: string, file: string): string {
    const path = relative(dirname(from), file).replace(/\.d\.ts$/, '.js')
    return path.startsWith('.') ? path : `./${path}`
  }

  #named(path: string): string {
    return normalize(path).replace(/\.[jt]s$/, this.#suffix)
  }
}
