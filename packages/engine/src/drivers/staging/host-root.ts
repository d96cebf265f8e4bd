import { createHash } from 'node:crypto'
import { chmod, chown, cp, lstat, mkdir, stat, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { HostPaths } from '../../host/host.ts'
import { TEMPLATE_USER } from '../../templates/base-files.ts'
import type { HostTemplate } from '../../templates/template.ts'
import { makeOnce } from './write-once.ts'
import { RememberedByKey } from '../../host/remembered.ts'

/** Changed whenever this file makes something else of the same template. */
const LAYOUT = 2

const DIRECTORIES: readonly { readonly path: string; readonly mode: number }[] = [
  ...[
    '/proc',
    '/dev',
    '/etc',
    '/home',
    '/mnt',
    '/opt',
    '/run',
    '/srv',
    '/var',
    '/var/lib',
    '/var/cache',
    '/var/log',
  ].map((path) => ({
    path,
    mode: 0o755,
  })),
  { path: '/root', mode: 0o700 },
  { path: '/tmp', mode: 0o1777 },
  { path: '/var/tmp', mode: 0o1777 },
]

const made = new RememberedByKey<string>()

/** What is mounted at each start. The rest of the template is small: it is copied once, since every mount costs time. */
export function mountedParts(template: HostTemplate): HostTemplate['mounts'] {
  return template.mounts.filter(({ target }) => !isCopied(target))
}

function isCopied(target: string): boolean {
  return target.startsWith('/etc/')
}

/**
 * The `host` template as a directory: links, small files, empty directories, and the places on which the host's own
 * directories are mounted. It is the lower layer of the sandbox's root like any other template, made once per digest.
 */
export function hostRoot(template: HostTemplate, paths: HostPaths): Promise<string> {
  const name = createHash('sha256').update(`${LAYOUT} ${template.digest}`).digest('hex').slice(0, 32)
  const path = join(paths.cache, 'host-roots', name)
  return made.get(path, () => makeOnce(path, (temporary) => makeHostRoot(template, temporary)))
}

async function makeHostRoot(template: HostTemplate, root: string): Promise<void> {
  await makeDirectory(root, 0o755)
  for (const { path, mode } of DIRECTORIES) await makeDirectory(join(root, path), mode)
  await makeHome(join(root, TEMPLATE_USER.home))
  for (const { source, target } of template.mounts) {
    if (isCopied(target)) await copyPublic(source, join(root, target))
    else await makeMountPoint(source, join(root, target))
  }
  for (const { path, target } of template.symlinks) {
    await makeDirectory(dirname(join(root, path)), 0o755)
    await symlink(target, join(root, path))
  }
  for (const { path, content } of template.files) {
    if (await covered(root, path)) continue
    await makeDirectory(dirname(join(root, path)), 0o755)
    await writeFile(join(root, path), content, { mode: 0o644 })
  }
}

async function makeHome(path: string): Promise<void> {
  await makeDirectory(path, 0o755)
  // Without root there is one user only, which owns everything.
  if (process.getuid?.() === 0) await chown(path, TEMPLATE_USER.id, TEMPLATE_USER.id)
}

/** A file that another mount of the template shows needs no copy. */
async function covered(root: string, path: string): Promise<boolean> {
  return await lstat(join(root, path)).then(
    () => true,
    () => false,
  )
}

/** SAFETY: copies belong to root inside, so what the host does not show to everybody must not be among them. */
async function copyPublic(source: string, target: string): Promise<void> {
  await makeDirectory(dirname(target), 0o755)
  await cp(source, target, { recursive: true, verbatimSymlinks: true, filter: isPublic })
}

async function isPublic(path: string): Promise<boolean> {
  const status = await lstat(path)
  if (status.isSymbolicLink()) return true
  return (status.isFile() || status.isDirectory()) && (status.mode & 0o004) !== 0
}

async function makeMountPoint(source: string, target: string): Promise<void> {
  if ((await stat(source)).isDirectory()) return await makeDirectory(target, 0o755)
  await makeDirectory(dirname(target), 0o755)
  await writeFile(target, '', { mode: 0o644 })
}

/** Not by mkdir's own mode, which heeds the umask. A directory that is there keeps its mode. */
async function makeDirectory(path: string, mode: number): Promise<void> {
  const first = await mkdir(path, { recursive: true })
  if (first !== undefined) await chmod(path, mode)
}
