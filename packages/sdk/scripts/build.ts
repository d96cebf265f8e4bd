// Writes the package that is published: `node packages/sdk/scripts/build.ts [FOLDER]`, by default to packages/sdk/dist. Plain JavaScript, and
// declarations that need nothing else: what they take from the contract is in one file of their own.
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { contractTypes } from './contract-types.ts'

const folder = resolve(import.meta.dirname, '..')
const root = resolve(folder, '../..')

/** What the declarations use of the language beyond what programs have by default. */
const LIBRARIES = ['es2023', 'esnext.disposable'].map((name) => `/// <reference lib="${name}" />\n`).join('')

function build(target: string): void {
  rmSync(target, { recursive: true, force: true })
  mkdirSync(target, { recursive: true })
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  execFileSync(process.execPath, [compiler, '-p', join(folder, 'tsconfig.build.json'), '--outDir', target], {
    stdio: 'inherit',
  })
  const wanted = new Set<string>()
  for (const name of readdirSync(target, { recursive: true, encoding: 'utf8' })) {
    if (name.endsWith('.d.ts')) for (const used of finishDeclarations(target, name)) wanted.add(used)
  }
  writeFileSync(join(target, 'contract.d.ts'), contractTypes(root, wanted))
  writeFileSync(join(target, 'package.json'), `${JSON.stringify(publishedManifest(), null, 2)}\n`)
  copyFileSync(join(folder, 'README.md'), join(target, 'README.md'))
  copyFileSync(join(root, 'LICENSE'), join(target, 'LICENSE'))
}

/** Leads what it imports to files of the package, and gives the names that it takes from the contract. */
function finishDeclarations(target: string, name: string): string[] {
  const file = join(target, name)
  const text = readFileSync(file, 'utf8')
  const contract = relative(dirname(file), join(target, 'contract.js'))
  const led = text
    .replaceAll(/(\bfrom |\bimport\()(['"])(\.\.?\/[^'"\n]*)\.ts\2/g, '$1$2$3.js$2')
    .replaceAll(
      /(\bfrom |\bimport\()(['"])@hearth\/contract\2/g,
      `$1$2${contract.startsWith('.') ? '' : './'}${contract}$2`,
    )
  writeFileSync(file, name === 'index.d.ts' ? LIBRARIES + led : led)
  const taken = text.matchAll(/\{([^}]*)\} from '@hearth\/contract'|import\("@hearth\/contract"\)\.(\w+)/g)
  return [...taken].flatMap(([, list, one]) => one ?? list?.match(/[A-Z]\w*/g) ?? [])
}

/** The manifest of the sources without what only they need. */
function publishedManifest(): object {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Record<string, unknown>
  const { name, version, description, license, type, engines } = manifest
  return {
    name,
    version,
    description,
    license,
    type,
    engines,
    sideEffects: false,
    exports: { '.': { types: './index.d.ts', default: './index.js' }, './package.json': './package.json' },
    types: './index.d.ts',
  }
}

build(resolve(process.argv[2] ?? join(folder, 'dist')))
