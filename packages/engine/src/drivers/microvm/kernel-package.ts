import { randomBytes } from 'node:crypto'
import { chmod, mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Progress } from '../../templates/template.ts'
import { findProgram } from '../staging/programs.ts'
import { MissingPart } from './missing-part.ts'
import { runTool } from './run-tool.ts'

/** A kernel as its package lays it out. */
export interface KernelTree {
  readonly release: string
  readonly image: string
  readonly modules: string
}

const META_PACKAGE = 'linux-image-cloud-amd64'
const INSTALL = `apt-get install ${META_PACKAGE}`

/** Fetches the package with apt, which checks its signature, and unpacks it into a directory that is removed after use. No root is needed. */
export async function downloadKernel(
  directory: string,
  progress: Progress,
): Promise<AsyncDisposable & { readonly tree: KernelTree }> {
  const [get, cache, unpack] = await Promise.all(['apt-get', 'apt-cache', 'dpkg-deb'].map(findProgram))
  if (
    get === undefined ||
    get === null ||
    cache === undefined ||
    cache === null ||
    unpack === undefined ||
    unpack === null
  ) {
    throw new MissingPart('there is no kernel for microVMs, and no apt to fetch Debian’s cloud kernel with', null)
  }
  const name = await kernelPackage(cache)
  const workspace = join(directory, `download-${randomBytes(6).toString('hex')}.tmp`)
  await mkdir(workspace, { recursive: true })
  // apt lets an unprivileged user of its own do the download where it can reach the directory, and says so where it cannot.
  await chmod(workspace, 0o755)
  const remove = async (): Promise<void> => await rm(workspace, { recursive: true, force: true })
  try {
    progress(`fetching ${name}`)
    await runTool(get, ['download', '-q', name], { cwd: workspace })
    const archive = (await readdir(workspace)).find((file) => file.endsWith('.deb'))
    if (archive === undefined) throw new Error(`apt-get download ${name} left no package`)
    const root = join(workspace, 'root')
    await runTool(unpack, ['-x', join(workspace, archive), root])
    return { tree: await kernelTree(root), [Symbol.asyncDispose]: remove }
  } catch (cause) {
    await remove()
    if (cause instanceof MissingPart) throw cause
    throw new MissingPart(
      `the kernel ${name} could not be fetched: ${(cause as Error).message}`,
      `apt-get update && ${INSTALL}`,
    )
  }
}

/** The meta package of the release depends on the kernel that it recommends now. */
async function kernelPackage(aptCache: string): Promise<string> {
  const text = await runTool(aptCache, ['depends', '--important', META_PACKAGE]).then(
    (output) => output.toString(),
    // apt-cache fails where the package is unknown.
    () => '',
  )
  const name = /^\s*Depends: (linux-image-[\w.+-]+-cloud-amd64)$/m.exec(text)?.[1]
  if (name !== undefined) return name
  throw new MissingPart(
    `apt knows no package ${META_PACKAGE} (it is Debian’s kernel for virtual machines)`,
    `apt-get update && ${INSTALL}`,
  )
}

async function kernelTree(root: string): Promise<KernelTree> {
  const name = (await readdir(join(root, 'boot'))).find((file) => file.startsWith('vmlinuz-'))
  if (name === undefined) throw new Error('the package holds no kernel image')
  const release = name.slice('vmlinuz-'.length)
  const parent = await readdir(join(root, 'lib/modules')).then(
    () => 'lib/modules',
    () => 'usr/lib/modules',
  )
  return { release, image: join(root, 'boot', name), modules: join(root, parent, release) }
}
