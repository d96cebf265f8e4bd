import { access, mkdir, open, readFile, readdir, rm, truncate, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { DirectoryTemplate, Progress } from '../../templates/template.ts'
import { findProgram } from '../staging/programs.ts'
import { makeOnce } from '../staging/write-once.ts'
import { MissingPart } from './missing-part.ts'
import { runTool } from './run-tool.ts'

const IMAGE = 'base.ext4'
/** Says which root it was made from, so that it goes when that is gone. */
const ORIGIN = 'origin'
const BLOCK_BYTES = 4096
const INODE_BYTES = 256
/** Where ext4 has its identifier: field 0x68 of the superblock. */
const SUPERBLOCK_IDENTIFIER = 1024 + 0x68

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
 * The random identifier that the image got when it was made. A machine that ran on it has parts of it in memory, so that it cannot go on
 * with another one, though made of the same files. Null when there is none.
 */
export async function baseImageIdentity(image: string): Promise<string | null> {
  const handle = await open(image).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (handle === null) return null
  try {
    const { buffer } = await handle.read(Buffer.alloc(16), 0, 16, SUPERBLOCK_IDENTIFIER)
    return buffer.toString('hex')
  } finally {
    await handle.close()
  }
}

function imageName(digest: string): string {
  return digest.replaceAll(/[^A-Za-z0-9]+/g, '-')
}

async function build(source: string, image: string, root: boolean): Promise<void> {
  const [format, measure, bubblewrap] = await Promise.all(['mkfs.ext4', 'du', 'bwrap'].map(findProgram))
  if (typeof format !== 'string' || typeof measure !== 'string' || typeof bubblewrap !== 'string') {
    throw new MissingPart(
      'mkfs.ext4, du and bwrap are needed to make disks',
      'apt-get install e2fsprogs coreutils bubblewrap',
    )
  }
  // A user owns every file of the roots it made; inside the disk they belong to root.
  const asRoot = root ? [] : [bubblewrap, '--unshare-user', '--uid', '0', '--gid', '0', '--dev-bind', '/', '/', '--']
  const run = async (command: readonly string[]): Promise<string> => {
    const [program = '', ...parameters] = [...asRoot, ...command]
    return (await runTool(program, parameters)).toString()
  }
  const blocks = Number.parseInt(await run([measure, '-s', '-x', '--block-size=4096', source]), 10)
  const inodes = Number.parseInt(await run([measure, '-s', '-x', '--inodes', source]), 10)
  // Directories and extent trees differ between file systems; the file is sparse, so that room costs nothing.
  const bytes = Math.ceil(blocks * 1.15 + 8192) * BLOCK_BYTES + (inodes + 1024) * INODE_BYTES
  await writeFile(image, '', { mode: 0o644 })
  await truncate(image, Math.ceil(bytes / BLOCK_BYTES) * BLOCK_BYTES)
  const features = '^has_journal,^resize_inode,^metadata_csum,^64bit'
  await run([
    format,
    '-q',
    '-F',
    '-b',
    String(BLOCK_BYTES),
    '-m',
    '0',
    '-N',
    String(inodes + 1024),
    '-O',
    features,
    '-d',
    source,
    image,
  ])
}

/** Images of roots that were removed. A machine that runs from one keeps it open. */
async function removeOrphans(parent: string): Promise<void> {
  const names = await readdir(parent).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  // A name with a dot is one that another process is making.
  for (const name of names.filter((entry) => !entry.includes('.'))) {
    const origin = await readFile(join(parent, name, ORIGIN), 'utf8').catch(() => null)
    if (origin === null || !(await exists(origin))) await rm(join(parent, name), { recursive: true, force: true })
  }
}

async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  )
}
