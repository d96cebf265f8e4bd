import { createHash } from 'node:crypto'
import { lstat, readFile, readdir, readlink, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { HearthError } from '@hearth/contract'
import type { HostPaths } from '../host/host.ts'
import { BASE_FILES, TEMPLATE_DEFAULTS } from './base-files.ts'
import { readHostTools } from './host-tools.ts'
import type { HostTemplate } from './template.ts'

/** Beside /usr at the top of a root. Symlinks into /usr on a merged host, directories on an older one. */
const TOP_LEVEL = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32']

/**
 * SAFETY: an allowlist. Nothing else of /etc is shown, since it holds the host's users, keys, registries and proxies.
 * /home, /root, /var, /opt, /run and /srv are not shown at all.
 */
const SHOWN = {
  mounts: ['/etc/ld.so.cache', '/etc/alternatives', '/etc/ssl/certs', '/etc/fonts'],
  /** Directories whose names carry a version. */
  mountPattern: /^(java-\d+-openjdk|ImageMagick-\d+)$/,
  files: [
    // Without those of the site, which may name proxies and registries.
    '/etc/R/Makeconf',
    '/etc/R/Renviron',
    '/etc/R/ldpaths',
    '/etc/bash.bashrc',
    '/etc/debian_version',
    '/etc/inputrc',
    '/etc/matplotlibrc',
    '/etc/mime.types',
    '/etc/profile',
    '/etc/protocols',
    '/etc/services',
    '/etc/shells',
    '/etc/ssl/openssl.cnf',
  ],
  filePattern: /^python\d(\.\d+)?$/,
  symlinks: ['/etc/localtime', '/etc/os-release'],
} as const

/** A file of /etc that is larger than this is not one that a tool needs. */
const MAXIMUM_FILE_BYTES = 256 * 1024

type Link = HostTemplate['symlinks'][number]
type Mount = HostTemplate['mounts'][number]
type File = HostTemplate['files'][number]

/** Describes the host's toolchain as a root. Reads names and a few small files, so it takes a millisecond or two. */
export async function readHostTemplate(paths: Pick<HostPaths, 'home'>): Promise<HostTemplate> {
  const mounts: Mount[] = [{ source: '/usr', target: '/usr' }]
  const symlinks: Link[] = [{ path: '/etc/mtab', target: '/proc/self/mounts' }]
  for (const path of TOP_LEVEL) {
    const kind = await kindOf(path)
    if (kind === 'symlink') symlinks.push({ path, target: await readlink(path) })
    if (kind === 'directory') mounts.push({ source: path, target: path })
  }
  if ((await kindOf('/bin/sh', stat)) === null) {
    throw new HearthError('template_unsupported', 'the host has no /bin/sh, so its toolchain cannot be shown')
  }
  const etc = (await readdir('/etc')).toSorted()
  const versioned = etc.filter((name) => SHOWN.mountPattern.test(name)).map((name) => join('/etc', name))
  for (const path of [...SHOWN.mounts, ...versioned]) {
    if ((await kindOf(path, stat)) !== null) mounts.push({ source: await realpath(path), target: path })
  }
  for (const path of SHOWN.symlinks) {
    if ((await kindOf(path)) === 'symlink') symlinks.push({ path, target: await readlink(path) })
  }
  const files = [...BASE_FILES, ...(await smallFiles(etc))]
  await refuseOwnState(paths.home, mounts)
  const [digest, tools] = await Promise.all([digestOf(mounts, symlinks, files), readHostTools()])
  return { kind: 'host', name: 'host', digest, tools, mounts, symlinks, files, ...TEMPLATE_DEFAULTS }
}

async function smallFiles(etc: readonly string[]): Promise<File[]> {
  const directories = etc.filter((name) => SHOWN.filePattern.test(name)).map((name) => join('/etc', name))
  const within = await Promise.all(
    directories.map(async (directory) => (await readdir(directory)).toSorted().map((name) => join(directory, name))),
  )
  const files: File[] = []
  for (const path of [...SHOWN.files, ...within.flat()]) {
    if ((await kindOf(path)) !== 'file') continue
    const content = await readFile(path)
    if (content.length <= MAXIMUM_FILE_BYTES) files.push({ path, content: content.toString('utf8') })
  }
  return files
}

/** Hearth's own state holds other sandboxes; a home below a shown directory would show it to all of them. */
async function refuseOwnState(home: string, mounts: readonly Mount[]): Promise<void> {
  const resolved = await realpath(home).catch(() => home)
  const inside = mounts.find(({ source }) => `${resolved}/`.startsWith(`${source}/`))
  if (inside === undefined) return
  throw new HearthError(
    'template_unsupported',
    `the state of Hearth lies in ${inside.source}, which this template shows`,
    {
      suggestion: 'Set HEARTH_HOME to a directory outside of /usr.',
      context: { home, source: inside.source },
    },
  )
}

/** The content below a mount is summed up by what changes whenever a package is installed, upgraded or removed. */
async function digestOf(mounts: readonly Mount[], symlinks: readonly Link[], files: readonly File[]): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify({ mounts, symlinks, files }))
  const witnesses = mounts.map(({ source }) => source)
  for (const path of [...witnesses, '/usr/bin', '/usr/lib', '/usr/local/bin', '/var/lib/dpkg/status']) {
    const status = await stat(path).catch(() => null)
    hash.update(JSON.stringify([path, status && [status.dev, status.ino, status.size, status.mtimeMs]]))
  }
  return `sha256:${hash.digest('hex')}`
}

async function kindOf(
  path: string,
  look: typeof lstat = lstat,
): Promise<'file' | 'directory' | 'symlink' | 'other' | null> {
  try {
    const status = await look(path)
    if (status.isSymbolicLink()) return 'symlink'
    if (status.isDirectory()) return 'directory'
    return status.isFile() ? 'file' : 'other'
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EACCES') return null
    throw error
  }
}
