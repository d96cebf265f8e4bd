import { readFile, readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { zstdDecompressSync, gunzipSync } from 'node:zlib'
import { findProgram } from '../staging/programs.ts'
import { runTool } from './run-tool.ts'

/** What a machine needs beside what is built into the kernel: its bus, its disks, its port, the file system that joins base and upper. */
export const MACHINE_MODULES = ['virtio_mmio', 'virtio_blk', 'virtio_console', 'overlay'] as const
/** And one that may get volumes. */
export const VOLUME_MODULES = ['fuse'] as const

export interface KernelModule {
  readonly name: string
  readonly content: Buffer
}

/** The wanted modules and what they depend on, in the order in which they must be loaded. */
export async function collectModules(directory: string, wanted: readonly string[]): Promise<KernelModule[]> {
  const files = await moduleFiles(directory)
  const builtIn = new Set((await readFile(join(directory, 'modules.builtin'), 'utf8')).split('\n').map(moduleName))
  const loaded = new Map<string, KernelModule>()
  const load = async (name: string): Promise<void> => {
    if (loaded.has(name) || builtIn.has(name)) return
    const file = files.get(name)
    if (file === undefined) throw new Error(`the kernel in ${directory} has no module ${name}`)
    const content = await readModule(file)
    for (const dependency of dependencies(content)) await load(dependency)
    loaded.set(name, { name, content })
  }
  for (const name of wanted) await load(name)
  return [...loaded.values()]
}

async function moduleFiles(directory: string): Promise<Map<string, string>> {
  const entries = await readdir(join(directory, 'kernel'), { recursive: true })
  return new Map(
    entries
      .filter((entry) => /\.ko(\.(xz|zst|gz))?$/.test(entry))
      .map((entry) => [moduleName(entry), join(directory, 'kernel', entry)]),
  )
}

/** `kernel/drivers/virtio/virtio-rng.ko.xz` is the module `virtio_rng`. */
function moduleName(path: string): string {
  return basename(path)
    .replace(/\.ko(\.\w+)?$/, '')
    .replaceAll('-', '_')
}

async function readModule(file: string): Promise<Buffer> {
  const content = await readFile(file)
  if (file.endsWith('.zst')) return zstdDecompressSync(content)
  if (file.endsWith('.gz')) return gunzipSync(content)
  if (!file.endsWith('.xz')) return content
  const xz = await findProgram('xz')
  if (xz === null)
    throw new Error(
      'the modules of this kernel are compressed with xz, which is not installed (apt-get install xz-utils)',
    )
  return await runTool(xz, ['-dc'], { input: content })
}

/** Modules carry their own metadata as strings; packages have no index of them. */
function dependencies(module: Buffer): string[] {
  const start = module.indexOf('\0depends=')
  const field = start === -1 ? '' : module.toString('latin1', start + 9, module.indexOf(0, start + 9))
  return field
    .split(',')
    .filter(Boolean)
    .map((name) => name.replaceAll('-', '_'))
}
