import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { PROGRAM, TestKeeper, eventually } from './keeper-harness.ts'

const PAGE = 4096
const PAGES = 4096
const BYTES = PAGES * PAGE
const NUMBER = 7

/** Maps the file as a machine does its memory, and writes to some pages of it; a word on the link makes it write to one more. */
const MACHINE = `
import mmap, sys
memory = mmap.mmap(${NUMBER}, ${BYTES}, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE)
for page in [0, 1, 2, 700, ${PAGES - 1}]: memory[page * ${PAGE}] = 0x61 + page % 20
memory[1000 * ${PAGE}]
open('mapped', 'w').close()
sys.stdin.buffer.read(1)
memory[1500 * ${PAGE} + 5] = 0x7a
open('more', 'w').close()
sys.stdin.buffer.read()
`

let place: string
let base: string
let target: string

beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'memory-'))
  base = join(place, 'base')
  target = join(place, 'target')
  writeFileSync(base, Buffer.alloc(3 * PAGE, 'b'))
  truncateSync(base, BYTES)
})

afterEach(() => rmSync(place, { recursive: true, force: true }))

async function machine(): Promise<TestKeeper> {
  const keeper = new TestKeeper()
  await keeper.launch({ argv: ['/usr/bin/python3', '-c', MACHINE], files: [String(NUMBER), base] })
  await eventually(() => keeper.has('mapped'))
  return keeper
}

class Copy {
  readonly child: ChildProcess
  said = ''
  errors = ''
  readonly ended: Promise<number | null>

  constructor(keeper: number, bytes = BYTES, number = NUMBER) {
    const words = [String(keeper), String(number), String(bytes), target, base]
    this.child = spawn(PROGRAM, ['memory', ...words], { stdio: 'pipe' })
    this.child.stdout?.on('data', (chunk: Buffer) => (this.said += chunk.toString()))
    this.child.stderr?.on('data', (chunk: Buffer) => (this.errors += chunk.toString()))
    this.ended = new Promise((resolve) => this.child.once('close', (code) => resolve(code)))
  }
}

function page(file: Buffer, number: number): string {
  return file.subarray(number * PAGE, number * PAGE + 6).toString('latin1')
}

describe('the memory of a machine', () => {
  it('is the file with the pages that it made its own until it stood still', async () => {
    await using keeper = await machine()
    const copy = new Copy(keeper.process.pid ?? 0)
    await eventually(() => copy.said.includes('ready'))
    expect(copy.said).toBe(`ready ${5 * PAGE}\n`)
    // Whoever has no name any more is still found.
    rmSync(base)
    keeper.connection.socket.write(Buffer.from([0, 0, 0, 0, 10, 0, 0, 0, 1, 0, 0, 0]))
    await eventually(() => keeper.has('more'))
    copy.child.stdin?.end('.')
    expect([await copy.ended, copy.errors]).toEqual([0, ''])
    expect(copy.said.split('\n').slice(1)).toEqual([`copied ${6 * PAGE}`, `written ${6 * PAGE}`, ''])
    const file = readFileSync(target)
    expect(file.length).toBe(BYTES)
    expect([0, 1, 2, 3, 700, 1000, 1500, PAGES - 1].map((number) => page(file, number))).toEqual([
      'abbbbb',
      'bbbbbb',
      'cbbbbb',
      '\0\0\0\0\0\0',
      'a\0\0\0\0\0',
      '\0\0\0\0\0\0',
      '\0\0\0\0\0z',
      'p\0\0\0\0\0',
    ])
  })

  it('is not copied when nobody waits for it', async () => {
    await using keeper = await machine()
    const copy = new Copy(keeper.process.pid ?? 0)
    await eventually(() => copy.said.includes('ready'))
    expect(existsSync(target)).toBe(true)
    copy.child.stdin?.end()
    expect(await copy.ended).toBe(1)
    expect(existsSync(target)).toBe(false)
  })

  it.each([
    ['another size', BYTES * 2, NUMBER],
    ['another descriptor', BYTES, 0],
    ['a descriptor that is not open', BYTES, 300],
  ])('is not found with %s', async (_, bytes, number) => {
    await using keeper = await machine()
    const copy = new Copy(keeper.process.pid ?? 0, bytes, number)
    expect(await copy.ended).toBe(1)
    expect(copy.errors).toContain('keeps no machine')
    expect(existsSync(target)).toBe(false)
  })

  it('does not replace a file', async () => {
    await using keeper = await machine()
    writeFileSync(target, 'mine')
    expect(await new Copy(keeper.process.pid ?? 0).ended).toBe(1)
    expect(readFileSync(target, 'utf8')).toBe('mine')
  })
})
