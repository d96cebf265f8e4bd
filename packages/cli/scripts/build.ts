// Writes the package that people install: `node packages/cli/scripts/build.ts [FOLDER]`, by default to packages/cli/dist. It holds what the
// command and `import 'hearth'` reach, of all packages here, as JavaScript with declarations, and the guest program as the set-up has built it.
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { reach } from './reach.ts'
import { Sources } from './sources.ts'

const folder = resolve(import.meta.dirname, '..')
const root = resolve(folder, '../..')
const guest = 'guest/build/hearth-guest'

/** Where programs come in. The worker is started by its name. */
const ENTRIES = [
  'packages/cli/src/main.js',
  'packages/cli/src/index.js',
  'packages/server/src/state/database/sqlite-checkpoint-worker.js',
]
/** Part of the repository alone: measuring needs its tests. */
const LEFT_OUT = ['bench/', 'packages/cli/src/commands/bench.js']
/** What the declarations use of the language beyond what programs have by default. */
const HEAD = [
  '/// <reference types="node" />',
  ...['es2024', 'esnext.disposable', 'esnext.iterator'].map((name) => `/// <reference lib="${name}" />`),
]

function build(target: string): void {
  if (!existsSync(join(root, guest))) throw new Error(`${guest} is not built: run npm run setup`)
  rmSync(target, { recursive: true, force: true })
  mkdirSync(target, { recursive: true })
  const compiled = `${target}.compiled`
  rmSync(compiled, { recursive: true, force: true })
  try {
    compile(compiled)
    const programs = reach(compiled, ENTRIES, LEFT_OUT, new Sources(root, '.js'))
    const types = reach(compiled, ['packages/cli/src/index.d.ts'], [], new Sources(root, '.d.ts'))
    for (const [name, text] of [...programs.files, ...types.files]) put(target, name, text)
    writeFileSync(
      join(target, 'package.json'),
      `${JSON.stringify(manifest([...programs.outside, ...types.outside]), null, 2)}\n`,
    )
  } finally {
    rmSync(compiled, { recursive: true, force: true })
  }
  const index = join(target, 'packages/cli/src/index.d.ts')
  writeFileSync(index, `${HEAD.join('\n')}\n${readFileSync(index, 'utf8')}`)
  for (const name of ['cli', 'server']) put(target, `packages/${name}/package.json`, ownVersion(name))
  for (const name of assets()) copy(target, name, name)
  const launcher = readFileSync(join(folder, 'bin/hearth.js'), 'utf8').replace("'../src/main.ts'", "'../src/main.js'")
  put(target, 'packages/cli/bin/hearth.js', launcher)
  copy(target, guest, guest)
  copy(target, 'packages/cli/README.md', 'README.md')
  copy(target, 'LICENSE', 'LICENSE')
}

function compile(target: string): void {
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  execFileSync(process.execPath, [compiler, '-p', join(folder, 'tsconfig.build.json'), '--outDir', target], {
    stdio: 'inherit',
  })
}

function put(target: string, name: string, text: string): void {
  mkdirSync(dirname(join(target, name)), { recursive: true })
  writeFileSync(join(target, name), text, { mode: name.includes('/bin/') ? 0o755 : 0o644 })
}

function copy(target: string, from: string, to: string): void {
  mkdirSync(dirname(join(target, to)), { recursive: true })
  cpSync(join(root, from), join(target, to))
}

/** Files beside the code that are read as they are: the interpreters that run in sandboxes. */
function assets(): string[] {
  return readdirSync(join(root, 'packages/engine/src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.ts'))
    .map(({ parentPath, name }) => join(parentPath, name).slice(root.length + 1))
}

function read(name: string): Record<string, unknown> {
  return JSON.parse(readFileSync(join(root, 'packages', name, 'package.json'), 'utf8')) as Record<string, unknown>
}

/** Where these parts look for their version. */
function ownVersion(name: string): string {
  return `${JSON.stringify({ version: read(name)['version'], type: 'module' })}\n`
}

function manifest(outside: readonly string[]): object {
  const { name, version, license, type, engines } = read('cli')
  const { description } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<string, unknown>
  return {
    name,
    version,
    description,
    license,
    type,
    engines,
    os: ['linux'],
    cpu: ['x64'],
    bin: { hearth: 'packages/cli/bin/hearth.js' },
    exports: {
      '.': { types: './packages/cli/src/index.d.ts', default: './packages/cli/src/index.js' },
      './package.json': './package.json',
    },
    types: './packages/cli/src/index.d.ts',
    dependencies: dependencies(new Set(outside)),
  }
}

/** With the versions that are tested here, and the types that the declarations speak of. */
function dependencies(names: ReadonlySet<string>): Record<string, string> {
  const own = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    devDependencies: Record<string, string>
  }
  const known = { '@types/node': own.devDependencies['@types/node'] ?? '' }
  for (const name of readdirSync(join(root, 'packages'))) Object.assign(known, read(name)['dependencies'])
  const versions = known as Readonly<Record<string, string>>
  return Object.fromEntries(
    [...names, '@types/node'].toSorted().map((name) => {
      const version = versions[name]
      if (version === undefined) throw new Error(`no package here depends on ${name}`)
      return [name, version]
    }),
  )
}

build(resolve(process.argv[2] ?? join(folder, 'dist')))
