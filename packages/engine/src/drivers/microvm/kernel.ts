import { createHash } from 'node:crypto'
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { Progress } from '../../templates/template.ts'
import { makeOnce } from '../staging/write-once.ts'
import { extractKernelElf } from './kernel-image.ts'
import { collectModules, MACHINE_MODULES, VOLUME_MODULES } from './kernel-modules.ts'
import { downloadKernel, type KernelTree } from './kernel-package.ts'

/** A kernel that is ready to be started. */
export interface Kernel {
  readonly release: string
  /** Of the image and the modules. */
  readonly digest: string
  /** ELF where it could be extracted, else the compressed image. */
  readonly image: string
  /** In the order in which they are loaded; each is a file in `directory`. */
  readonly modules: readonly string[]
  /** Loaded after those, in machines with volumes. */
  readonly volumeModules: readonly string[]
  readonly directory: string
}

const MANIFEST = 'kernel.json'
/** Raised when what is prepared changes, so that what an older version made is made again. */
const FORMAT = 2
const manifestSchema = z.strictObject({
  format: z.literal(FORMAT),
  release: z.string().regex(/^[\w.+~-]+$/),
  source: z.string(),
  digest: z.string(),
  image: z.enum(['vmlinux', 'vmlinuz']),
  modules: z.array(z.string().regex(/^\w+$/)),
  volumeModules: z.array(z.string().regex(/^\w+$/)),
})

/**
 * Debian's cloud kernel: the installed one when there is one, else the newest that was fetched before, else it is fetched from
 * the package source that the host already uses. Nothing is installed for it.
 */
export async function findKernel(cache: string, progress: Progress): Promise<Kernel> {
  const directory = join(cache, 'kernel')
  const installed = await installedKernel()
  if (installed !== null) return await prepare(directory, installed, progress)
  const prepared = await preparedKernels(directory)
  if (prepared[0] !== undefined) return prepared[0]
  await using fetched = await downloadKernel(directory, progress)
  return await prepare(directory, fetched.tree, progress)
}

async function installedKernel(): Promise<KernelTree | null> {
  const images = (await readdir('/boot').catch(() => [])).filter((name) => /^vmlinuz-.*-cloud-amd64$/.test(name))
  for (const name of images.toSorted(byVersion).toReversed()) {
    const release = name.slice('vmlinuz-'.length)
    const tree = { release, image: join('/boot', name), modules: join('/lib/modules', release) }
    const readable = await Promise.all([readFile(tree.image), readdir(tree.modules)]).then(
      () => true,
      // Some distributions keep the image from users; then it is fetched as if it were not there.
      () => false,
    )
    if (readable) return tree
  }
  return null
}

async function prepare(directory: string, tree: KernelTree, progress: Progress): Promise<Kernel> {
  const compressed = await readFile(tree.image)
  const source = createHash('sha256').update(compressed).digest('hex')
  // What another version has made of it lies elsewhere, and that version may be at work too.
  const key = createHash('sha256').update(`${FORMAT} ${source}`).digest('hex')
  const target = join(directory, `${tree.release}-${key.slice(0, 16)}`)
  const existing = await readPrepared(target)
  if (existing !== null) return existing
  progress(`preparing the kernel ${tree.release}`)
  const needed = await collectModules(tree.modules, MACHINE_MODULES)
  const modules = await collectModules(tree.modules, [...MACHINE_MODULES, ...VOLUME_MODULES])
  const elf = extractKernelElf(compressed)
  const content = elf ?? compressed
  const image = elf === null ? 'vmlinuz' : 'vmlinux'
  const digest = createHash('sha256').update(content)
  for (const module of modules) digest.update(module.name).update(module.content)
  const names = needed.map((module) => module.name)
  const others = modules.map((module) => module.name).filter((name) => !names.includes(name))
  const manifest = {
    format: FORMAT,
    release: tree.release,
    source,
    digest: digest.digest('hex'),
    image,
    modules: names,
    volumeModules: others,
  }
  const files = [
    { name: image, content },
    ...modules.map((module) => ({ name: `${module.name}.ko`, content: module.content })),
    { name: MANIFEST, content: Buffer.from(JSON.stringify(manifest, undefined, 2)) },
  ]
  await makeOnce(target, async (draft) => {
    await mkdir(draft)
    for (const file of files) await writeFile(join(draft, file.name), file.content, { mode: 0o644 })
  })
  const made = await readPrepared(target)
  if (made === null) throw new Error(`the kernel in ${target} is damaged; remove that directory`)
  return made
}

async function preparedKernels(directory: string): Promise<Kernel[]> {
  const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  // Others are what another process is making.
  const finished = names.filter((name) => /-[0-9a-f]{16}$/.test(name)).toSorted(byVersion)
  const kernels = await Promise.all(finished.map((name) => readPrepared(join(directory, name))))
  return kernels.filter((kernel) => kernel !== null).toReversed()
}

/** Null when there is none, or one of another format. */
async function readPrepared(directory: string): Promise<Kernel | null> {
  const text = await readFile(join(directory, MANIFEST), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null
    throw error
  })
  if (text === null) return null
  const manifest = manifestSchema.safeParse(JSON.parse(text))
  if (!manifest.success) return null
  const { release, digest, image, modules, volumeModules } = manifest.data
  const [files, volumeFiles] = [modules, volumeModules].map((names) => names.map((name) => `${name}.ko`))
  return {
    release,
    digest,
    directory,
    image: join(directory, image),
    modules: files ?? [],
    volumeModules: volumeFiles ?? [],
  }
}

const collator = new Intl.Collator('en', { numeric: true })

function byVersion(a: string, b: string): number {
  return collator.compare(a, b)
}
