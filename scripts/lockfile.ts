// Completes each package-lock.json: `node scripts/lockfile.ts` (`--check` only tells). npm leaves optional packages out of the lockfile when
// the registry at hand does not have them, such as builds for other platforms, and `npm ci` then refuses the whole lockfile.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

interface Entry {
  readonly version?: string
  readonly dev?: boolean
  readonly optional?: boolean
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly os?: readonly string[]
  readonly cpu?: readonly string[]
  readonly libc?: readonly string[]
}

export interface Lockfile {
  readonly packages: Readonly<Record<string, Entry>>
}

const SYSTEMS = ['aix', 'android', 'darwin', 'freebsd', 'linux', 'netbsd', 'openbsd', 'openharmony', 'sunos', 'win32']
const PROCESSORS = ['arm', 'arm64', 'ia32', 'loong64', 'mips64el', 'ppc64', 'riscv64', 's390x', 'wasm32', 'x64']

/** Optional packages that some entry names and that have no entry of their own, as entries for the platform in their name. */
export function missingEntries({ packages }: Lockfile): Record<string, Entry> {
  const missing: Record<string, Entry> = {}
  const present = new Set(Object.keys(packages).map((path) => path.replace(/^.*node_modules\//, '')))
  for (const { optionalDependencies = {}, dev } of Object.values(packages)) {
    for (const [name, version] of Object.entries(optionalDependencies)) {
      if (present.has(name)) continue
      missing[`node_modules/${name}`] = {
        version,
        ...(dev === true ? { dev } : {}),
        optional: true,
        ...platformOf(name),
      }
    }
  }
  return missing
}

function platformOf(name: string): Pick<Entry, 'os' | 'cpu' | 'libc'> {
  const parts = (name.split('/').at(-1) ?? '').split('-')
  const os = SYSTEMS.filter((system) => parts.includes(system))
  const cpu = PROCESSORS.filter((processor) => parts.includes(processor))
  const library = parts.some((part) => part.startsWith('musl'))
    ? 'musl'
    : parts.some((part) => part.startsWith('gnu'))
      ? 'glibc'
      : null
  return {
    ...(cpu.length > 0 ? { cpu } : {}),
    ...(library !== null && os.includes('linux') ? { libc: [library] } : {}),
    ...(os.length > 0 ? { os } : {}),
  }
}

function main(path: string, check: boolean): number {
  const lockfile = JSON.parse(readFileSync(path, 'utf8')) as Lockfile
  const missing = missingEntries(lockfile)
  const names = Object.keys(missing)
  if (names.length === 0) return 0
  if (check) {
    console.error(`${path} lacks ${names.length} optional packages (${names[0]}, ...): run \`npm run lockfile\``)
    return 1
  }
  const entries = Object.entries({ ...lockfile.packages, ...missing })
  const sorted = entries.toSorted(([one], [other]) => one.localeCompare(other, 'en'))
  writeFileSync(path, `${JSON.stringify({ ...lockfile, packages: Object.fromEntries(sorted) }, null, 2)}\n`)
  console.log(`added ${names.length} optional packages to ${path}`)
  return 0
}

if (import.meta.main) {
  const check = process.argv.includes('--check')
  const lockfiles = ['package-lock.json', 'packages/sdk/test/runtimes/package-lock.json']
  process.chdir(join(import.meta.dirname, '..'))
  process.exitCode = Math.max(...lockfiles.map((path) => main(path, check)))
}
