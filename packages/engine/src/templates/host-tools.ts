import { createHash } from 'node:crypto'
import { readFile, realpath, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'

const LOADERS = ['/lib64/ld-linux-x86-64.so.2', '/lib/ld-linux-aarch64.so.1', '/lib/ld-musl-x86_64.so.1']
/** Beside the loader. */
const LIBRARIES = ['libc.so.6', 'libm.so.6', 'libstdc++.so.6', 'libz.so.1', 'libcrypto.so.3', 'libssl.so.3']
const PROGRAMS = ['sh', 'bash', 'python3', 'node', 'perl', 'ruby', 'java']
const PROGRAM_DIRECTORIES = ['/usr/local/bin', '/usr/bin']

/**
 * Which release the host's tools are of, and which builds of those that most processes consist of: a process that was captured has such
 * files in its memory and cannot go on with others. Packages give a file the same size and time on every host, so that equal hosts agree;
 * a package more or less changes nothing.
 */
export async function readHostTools(): Promise<string> {
  const [release, found] = await Promise.all([
    readFile('/etc/os-release', 'utf8').catch(() => ''),
    Promise.all(LOADERS.map((path) => realpath(path).catch(() => null))),
  ])
  const loaders = found.filter((path) => path !== null)
  const libraries = loaders.flatMap((loader) => LIBRARIES.map((name) => join(dirname(loader), name)))
  const programs = PROGRAM_DIRECTORIES.flatMap((directory) => PROGRAMS.map((name) => join(directory, name)))
  const states = await Promise.all([...loaders, ...libraries, ...programs].map(stateOf))
  const content = JSON.stringify([process.arch, release, states])
  return createHash('sha256').update(content).digest('hex').slice(0, 32)
}

/** Null when it is not there, or not for us to look at. */
async function stateOf(path: string): Promise<readonly [path: string, size: number, seconds: number] | null> {
  const status = await stat(path).catch(() => null)
  return status === null ? null : [path, status.size, Math.floor(status.mtimeMs / 1000)]
}
