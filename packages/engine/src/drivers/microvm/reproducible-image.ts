import { createHash } from 'node:crypto'
import { open, type FileHandle } from 'node:fs/promises'

/** Fields of ext4's superblock, of a group's descriptor without 64 bit, and of an inode. */
const SUPERBLOCK = 1024
const SUPERBLOCK_BYTES = 1024
const FIELDS = { inodes: 0, logBlockSize: 0x18, inodesPerGroup: 0x28, inodeSize: 0x58, identifier: 0x68 } as const
const IDENTIFIER_BYTES = 16
const DESCRIPTOR_BYTES = 32
const INODE_TABLE = 8
const INODE = { mode: 0, accessed: 0x08, changed: 0x0c, modified: 0x10 } as const
/** Nanoseconds of the same, and the time of creation. They are in inodes of 256 bytes. */
const EXTRA = { changed: 0x84, modified: 0x88, accessed: 0x8c, created: 0x90, createdExtra: 0x94 } as const

/**
 * Takes out of a new image what was not in the files that it was made of, and gives it an identifier that is the digest of the rest: the
 * same files are the same image wherever it is made. It has no checksums that would have to follow.
 */
export async function makeReproducible(image: string): Promise<void> {
  const handle = await open(image, 'r+')
  try {
    await settleTimes(handle)
    const digest = createHash('sha256')
    for await (const chunk of handle.createReadStream({ start: 0, autoClose: false })) digest.update(chunk as Buffer)
    await handle.write(digest.digest(), 0, IDENTIFIER_BYTES, SUPERBLOCK + FIELDS.identifier)
  } finally {
    await handle.close()
  }
}

/** The identifier in hexadecimal. */
export async function imageIdentifier(handle: FileHandle): Promise<string> {
  const buffer = await readAt(handle, SUPERBLOCK + FIELDS.identifier, IDENTIFIER_BYTES)
  return buffer.toString('hex')
}

/** When a file was looked at or given its owner here says nothing about it: all its times are the one at which it was modified. */
async function settleTimes(handle: FileHandle): Promise<void> {
  const superblock = await readAt(handle, SUPERBLOCK, SUPERBLOCK_BYTES)
  const blockBytes = 1024 << superblock.readUInt32LE(FIELDS.logBlockSize)
  const perGroup = superblock.readUInt32LE(FIELDS.inodesPerGroup)
  const inodeBytes = superblock.readUInt16LE(FIELDS.inodeSize)
  const groups = superblock.readUInt32LE(FIELDS.inodes) / perGroup
  // The descriptors begin in the block behind the superblock's.
  const start = blockBytes === SUPERBLOCK ? 2 * blockBytes : blockBytes
  const descriptors = await readAt(handle, start, groups * DESCRIPTOR_BYTES)
  for (let group = 0; group < groups; group++) {
    const position = descriptors.readUInt32LE(group * DESCRIPTOR_BYTES + INODE_TABLE) * blockBytes
    const table = await readAt(handle, position, perGroup * inodeBytes)
    for (let at = 0; at < table.length; at += inodeBytes) settleInode(table.subarray(at, at + inodeBytes))
    await handle.write(table, 0, table.length, position)
  }
}

function settleInode(inode: Buffer): void {
  if (inode.readUInt16LE(INODE.mode) === 0) return
  const seconds = inode.readUInt32LE(INODE.modified)
  for (const field of [INODE.accessed, INODE.changed, EXTRA.created]) inode.writeUInt32LE(seconds, field)
  const fraction = inode.readUInt32LE(EXTRA.modified)
  for (const field of [EXTRA.accessed, EXTRA.changed, EXTRA.createdExtra]) inode.writeUInt32LE(fraction, field)
}

async function readAt(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, position)
  if (bytesRead !== length) throw new Error(`the image ends at ${position + bytesRead}`)
  return buffer
}
