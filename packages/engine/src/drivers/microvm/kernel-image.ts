import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import { decompressLegacyLz4 } from './lz4.ts'

/** Larger than any distribution's kernel; what unpacks to more is not one. */
const MAXIMUM_BYTES = 256 * 1024 * 1024
const ELF_MAGIC = 0x7f45_4c46

/**
 * The ELF file inside a compressed Linux image (bzImage), or null when it is packed in a way that Node cannot read. A machine
 * that starts the ELF directly spares the guest from unpacking it, which under software emulation costs up to a second.
 * The place of the payload is part of Linux' boot protocol (version 2.08 and later).
 */
export function extractKernelElf(image: Buffer): Buffer | null {
  if (image.length < 0x260 || image.toString('latin1', 0x202, 0x206) !== 'HdrS') return null
  if (image.readUInt16LE(0x206) < 0x208) return null
  const setupSectors = image.readUInt8(0x1f1) || 4
  const start = (setupSectors + 1) * 512 + image.readUInt32LE(0x248)
  const length = image.readUInt32LE(0x24c)
  if (length < 8 || start + length > image.length) return null
  const payload = image.subarray(start, start + length)
  const elf = decompress(payload)
  return elf !== null && elf.length > 4 && elf.readUInt32BE(0) === ELF_MAGIC ? elf : null
}

function decompress(payload: Buffer): Buffer | null {
  // The kernel's build appends the unpacked size, except to gzip, which ends with it anyway.
  const size = payload.readUInt32LE(payload.length - 4)
  if (size > MAXIMUM_BYTES) return null
  const packed = payload.subarray(0, payload.length - 4)
  switch (payload.readUInt32BE(0)) {
    case 0x0221_4c18:
      return decompressLegacyLz4(packed, size)
    case 0x28b5_2ffd:
      return zstdDecompressSync(packed, { maxOutputLength: MAXIMUM_BYTES })
    default:
      return payload.readUInt16BE(0) === 0x1f8b ? gunzipSync(payload, { maxOutputLength: MAXIMUM_BYTES }) : null
  }
}
