import { gzipSync, zstdCompressSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { extractKernelElf } from './kernel-image.ts'
import { decompressLegacyLz4 } from './lz4.ts'

const elf = Buffer.concat([Buffer.from('\x7fELF', 'latin1'), Buffer.alloc(5000, 'kernel')])

/** A bzImage with one sector of set-up and the payload behind it. */
function image(payload: Buffer): Buffer {
  const setup = Buffer.alloc(1024)
  setup.writeUInt8(1, 0x1f1)
  setup.write('HdrS', 0x202)
  setup.writeUInt16LE(0x20f, 0x206)
  setup.writeUInt32LE(16, 0x248)
  setup.writeUInt32LE(payload.length, 0x24c)
  return Buffer.concat([setup, Buffer.alloc(16), payload])
}

function withSize(packed: Buffer, size: number): Buffer {
  const tail = Buffer.alloc(4)
  tail.writeUInt32LE(size)
  return Buffer.concat([packed, tail])
}

/** Legacy LZ4 with literals alone, and then one match that repeats its last byte. */
function lz4(content: Buffer, repeats: number): Buffer {
  const lengths = (count: number): number[] =>
    count < 15 ? [] : [...Array<number>(Math.floor((count - 15) / 255)).fill(255), (count - 15) % 255]
  const match = repeats - 4
  const token = (Math.min(15, content.length) << 4) | Math.min(15, match)
  const block = Buffer.concat([
    Buffer.from([token, ...lengths(content.length)]),
    content,
    Buffer.from([1, 0, ...lengths(match)]),
    Buffer.from([0]),
  ])
  const header = Buffer.from([0x02, 0x21, 0x4c, 0x18, 0, 0, 0, 0])
  header.writeUInt32LE(block.length, 4)
  return Buffer.concat([header, block])
}

describe('extractKernelElf', () => {
  test.each([
    ['gzip', gzipSync(elf)],
    ['zstd', withSize(zstdCompressSync(elf), elf.length)],
    ['lz4', withSize(lz4(elf, 100), elf.length + 100)],
  ])('unpacks a kernel that was packed with %s', (_name, payload) => {
    expect(extractKernelElf(image(payload))?.subarray(0, elf.length).equals(elf)).toBe(true)
  })

  test('gives null for what it cannot unpack', () => {
    expect(extractKernelElf(image(withSize(Buffer.from('\xfd7zXZ\0packed', 'latin1'), 100)))).toBeNull()
    expect(extractKernelElf(Buffer.alloc(4096))).toBeNull()
    expect(extractKernelElf(image(gzipSync('not an ELF file')))).toBeNull()
  })
})

describe('decompressLegacyLz4', () => {
  test('repeats overlapping matches', () => {
    expect(decompressLegacyLz4(lz4(Buffer.from('ab'), 20), 22).toString()).toBe(`ab${'b'.repeat(20)}`)
  })

  test('never reads or writes beyond its buffers, whatever the input is', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.nat(300), (bytes, size) => {
        const input = Buffer.concat([Buffer.from([0x02, 0x21, 0x4c, 0x18]), bytes])
        let output: Buffer | null = null
        try {
          output = decompressLegacyLz4(input, size)
        } catch (error) {
          expect(error).toBeInstanceOf(Error)
        }
        if (output !== null) expect(output).toHaveLength(size)
      }),
    )
  })
})
