const LEGACY_MAGIC = 0x184c_2102
const LEGACY_BLOCK_BYTES = 8 * 1024 * 1024

/**
 * Unpacks the legacy LZ4 form that kernels are compressed with: blocks, each with its length in front. `size` is what must come out.
 * Node has no LZ4 of its own, and a kernel is unpacked once per version.
 */
export function decompressLegacyLz4(input: Buffer, size: number): Buffer {
  if (input.length < 4 || input.readUInt32LE(0) !== LEGACY_MAGIC) throw new Error('this is not legacy LZ4')
  const output = Buffer.allocUnsafe(size)
  let written = 0
  let position = 4
  while (written < size) {
    const length = input.readUInt32LE(position)
    position += 4
    if (length > input.length - position) throw new Error('an LZ4 block is longer than its input')
    const room = Math.min(size, written + LEGACY_BLOCK_BYTES)
    written = decompressBlock(input.subarray(position, position + length), output.subarray(0, room), written)
    position += length
  }
  return output
}

/** Writes one block at `start` and says where it ended. Matches may reach back to bytes before `start`. */
function decompressBlock(block: Buffer, output: Buffer, start: number): number {
  let read = 0
  let written = start
  const extended = (nibble: number): number => {
    let length = nibble
    if (nibble !== 15) return length
    for (;;) {
      const more = block.readUInt8(read++)
      length += more
      if (more !== 255) return length
    }
  }
  while (read < block.length) {
    const token = block.readUInt8(read++)
    const literals = extended(token >> 4)
    if (literals > block.length - read || literals > output.length - written)
      throw new Error('an LZ4 literal is too long')
    block.copy(output, written, read, read + literals)
    read += literals
    written += literals
    if (read === block.length) return written
    const distance = block.readUInt16LE(read)
    read += 2
    const length = extended(token & 15) + 4
    if (distance === 0 || distance > written - start || length > output.length - written)
      throw new Error('an LZ4 match is out of range')
    copyMatch(output, written, distance, length)
    written += length
  }
  return written
}

/** A match may overlap what it writes: each turn copies what is already there, which doubles. */
function copyMatch(output: Buffer, to: number, distance: number, length: number): void {
  for (let done = 0; done < length;) {
    const step = Math.min(distance + done, length - done)
    output.copyWithin(to + done, to - distance, to - distance + step)
    done += step
  }
}
