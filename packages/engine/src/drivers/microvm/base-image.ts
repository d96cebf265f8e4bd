import { access, mkdir, open, readFile, readdir, rm, truncate, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { DirectoryTemplate, Progress } from '../../templates/template.ts'
import { findProgram } from '../staging/programs.ts'
import { makeOnce } from '../staging/write-once.ts'
import { MissingPart } from './missing-part.ts'
import { imageIdentifier, makeReproducible } from './reproducible-image.ts'
import { runTool } from './run-tool.ts'

const IMAGE = 'base.ext4'
/** Says which root it was made from, so that it goes when that is gone. */
const ORIGIN = 'origin'
/** Ends the name of an image. Another one when images are made in another way. */
const FORM = '-2'
const BLOCK_BYTES = 4096
const INODE_BYTES = 256
/** All of them: what else is on by default is the host's own choice. Without checksums, which a disk that nobody writes to does not need. */
const FEATURES =
  'none,ext_attr,dir_index,filetype,extent,flex_bg,sparse_super,large_file,huge_file,dir_nlink,extra_isize'
/** What the tool would make up by itself, so that an image depends on its files alone. */
const FIXED = { identifier: '00000000-0000-4000-8000-000000000001', time: '1' } as const

/**
 * A template's root as a read-only disk, made at first use and kept by the template's digest. ext4 is built into the kernel: next to
 * erofs, which would have to be loaded as a module, it starts sooner and needs no tool that is not on every Debian.
 */
export async function baseImage(
  cache: string,
  template: DirectoryTemplate,
  root: boolean,
  progress: Progress,
): Promise<string> {
  const image = baseImagePath(cache, template.digest)
  const directory = dirname(image)
  const parent = dirname(directory)
  if (await exists(image)) return image
  progress(`making a disk of the template ${template.name}`)
  await removeOrphans(parent)
  await makeOnce(directory, async (draft) => {
    await mkdir(draft)
    await writeFile(join(draft, ORIGIN), template.root)
    await build(template.root, join(draft, IMAGE), root)
  })
  return image
}

/** Where the image of a template is, if it was made. */
export function baseImagePath(cache: string, digest: string): string {
  return join(cache, 'microvm-images', imageName(digest), IMAGE)
}

/**
 * The digest of the image's content. A machine that ran on it has parts of it in memory, so that it goes on with an equal one alone: made of
 * the same files, here or on another host. Null when there is none.
 */
export async function baseImageIdentity(image: string): Promise<string | null> {
  const handle = await open(image).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (handle === null) return null
  try {
    return await imageIdentifier(handle)
  } finally {
    await handle.close()
  }
}

function imageName(digest: string): string {
  return digest.replaceAll(/[^A-Za-z0-9]+/g, '-') + FORM
}

async function build(source: string, image: string, root: boolean): Promise<void> {
  const [format, list, bubblewrap] = await Promise.all(['mkfs.ext4', 'find', 'bwrap'].map(findProgram))
  if (typeof format !== 'string' || typeof list !== 'string' || typeof bubblewrap !== 'string') {
    throw new MissingPart(
      'mkfs.ext4, find and bwrap are needed to make disks',
      'apt-get install e2fsprogs findutils bubblewrap',
    )
  }
  // A user owns every file of the roots it made; inside the disk they belong to root.
  const asRoot = root ? [] : [bubblewrap, '--unshare-user', '--uid', '0', '--gid', '0', '--dev-bind', '/', '/', '--']
  const run = async (command: readonly string[]): Promise<string> => {
    const [program = '', ...parameters] = [...asRoot, ...command]
    const environment = { E2FSPROGS_FAKE_TIME: FIXED.time, TZ: 'UTC' }
    return (await runTool(program, parameters, { environment })).toString()
  }
  const { blocks, inodes } = measure(await run([list, source, '-xdev', '-printf', MEASURED]))
  // Directories and extent trees are not counted exactly; the file is sparse, so that room costs nothing.
  const bytes = Math.ceil(blocks * 1.15 + 8192) * BLOCK_BYTES + (inodes + 1024) * INODE_BYTES
  await writeFile(image, '', { mode: 0o644 })
  await truncate(image, Math.ceil(bytes / BLOCK_BYTES) * BLOCK_BYTES)
  const sizes = ['-b', String(BLOCK_BYTES), '-I', String(INODE_BYTES), '-m', '0', '-N', String(inodes + 1024)]
  const fixed = ['-U', FIXED.identifier, '-E', `hash_seed=${FIXED.identifier}`]
  await run([format, '-q', '-F', ...sizes, '-O', FEATURES, ...fixed, '-d', source, image])
  await makeReproducible(image)
}

/** Of a name in a directory, with some room. */
const ENTRY_BYTES = 96
/** Of each file: its type, how many names it has, its number and its size. */
const MEASURED = '%y %n %i %s\n'

/** How much room files take, whatever the file system that they lie on makes of them. */
export function measure(listing: string): { blocks: number; inodes: number } {
  const seen = new Set<string>()
  let [blocks, inodes, entries] = [0, 0, 0]
  for (const line of listing.split('\n')) {
    const [type, names, number = '', size] = line.split(' ')
    if (type === undefined || type === '') continue
    entries++
    if (seen.has(number)) continue
    if (type !== 'd' && names !== '1') seen.add(number)
    inodes++
    // What a directory or a link takes here has little to do with the size that is told.
    blocks += type === 'f' ? Math.ceil(Number(size) / BLOCK_BYTES) : 1
  }
  return { blocks: blocks + Math.ceil((entries * ENTRY_BYTES) / BLOCK_BYTES), inodes }
}

/** Images of roots that were removed, or made in another way. A machine that runs from one keeps it open. */
async function removeOrphans(parent: string): Promise<void> {
  const names = await readdir(parent).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  // A name with a dot is one that another process is making.
  for (const name of names.filter((entry) => !entry.includes('.'))) {
    const origin = await readFile(join(parent, name, ORIGIN), 'utf8').catch(() => null)
    if (!name.endsWith(FORM) || origin === null || !(await exists(origin)))
      await rm(join(parent, name), { recursive: true, force: true })
  }
}

async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  )
}
