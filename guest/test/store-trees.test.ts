import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { PROGRAM } from './keeper-harness.ts'

let place: string
const at = (...names: string[]): string => join(place, ...names)

function store(
  words: string[],
  input: Buffer = Buffer.alloc(0),
): { status: number | null; output: Buffer; errors: string } {
  const { status, stdout, stderr } = spawnSync(PROGRAM, ['store', ...words], { input, maxBuffer: 64 * 1024 * 1024 })
  return { status, output: stdout, errors: stderr.toString() }
}

beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'trees-'))
  for (const name of ['source', 'source/deep', 'target']) mkdirSync(at(name))
  writeFileSync(at('source', 'file'), 'content')
  linkSync(at('source', 'file'), at('source', 'second'))
  symlinkSync('/etc/passwd', at('source', 'link'))
  writeFileSync(at('source', 'deep', 'holes'), 'start')
  truncateSync(at('source', 'deep', 'holes'), 2_000_000)
  execFileSync('mkfifo', [at('source', 'pipe')])
  // A whiteout, which anybody may make.
  execFileSync('mknod', [at('source', 'gone'), 'c', '0', '0'])
  utimesSync(at('source', 'deep'), 1_000_000, 1_000_000)
})
afterEach(() => rmSync(place, { recursive: true, force: true }))

function expectCopy(target: string): void {
  expect(readdirSync(target).toSorted()).toEqual(['deep', 'file', 'gone', 'link', 'pipe', 'second'])
  expect(readFileSync(join(target, 'second'), 'utf8')).toBe('content')
  expect(statSync(join(target, 'file')).ino).toBe(statSync(join(target, 'second')).ino)
  expect(readlinkSync(join(target, 'link'))).toBe('/etc/passwd')
  expect([lstatSync(join(target, 'gone')).rdev, lstatSync(join(target, 'gone')).isCharacterDevice()]).toEqual([0, true])
  expect(lstatSync(join(target, 'pipe')).isFIFO()).toBe(true)
  const holes = statSync(join(target, 'deep', 'holes'))
  expect([holes.size, holes.blocks < 100]).toEqual([2_000_000, true])
  expect(statSync(join(target, 'deep')).mtimeMs).toBe(1_000_000_000)
}

describe('trees of the store', () => {
  it('are copied with all that they are', () => {
    expect(store(['copy', '0', at('source'), at('target'), '0'])).toMatchObject({ status: 0, errors: '' })
    expectCopy(at('target'))
  })

  it('are laid over each other as an overlay would', () => {
    mkdirSync(at('target', 'file'))
    writeFileSync(at('target', 'gone'), 'was there')
    mkdirSync(at('target', 'deep'))
    writeFileSync(at('target', 'deep', 'other'), 'stays')
    expect(store(['copy', '0', at('source'), at('target'), '0']).status).toBe(0)
    expect(readFileSync(at('target', 'deep', 'other'), 'utf8')).toBe('stays')
    rmSync(at('target', 'deep', 'other'))
    utimesSync(at('target', 'deep'), 1_000_000, 1_000_000)
    expectCopy(at('target'))
  })

  it('come back from records', () => {
    const { status, output } = store(['pack', at('source')])
    expect(status).toBe(0)
    expect(output.length).toBeLessThan(100_000)
    expect(store(['unpack', at('target')], output)).toMatchObject({ status: 0, errors: '' })
    expectCopy(at('target'))
  })

  it('shift the ids of a sandbox, and give what is a stranger to nobody', () => {
    if (process.getuid?.() !== 0) return
    execFileSync('chown', ['100007:100008', at('source', 'file')])
    expect(store(['copy', '0', at('source'), at('target'), '100000']).status).toBe(0)
    const { uid, gid } = statSync(at('target', 'file'))
    expect([uid, gid, statSync(at('target', 'deep')).uid]).toEqual([7, 8, 65_534])
  })

  it('are removed whatever their permissions, and counted', () => {
    writeFileSync(at('source', 'deep', 'big'), Buffer.alloc(100_000))
    expect(Number(store(['bytes', at('source')]).output)).toBeGreaterThanOrEqual(100_000)
    chmodSync(at('source', 'deep'), 0)
    expect(store(['remove', at('source')])).toMatchObject({ status: 0, errors: '' })
    expect(store(['remove', at('source')]).status).toBe(0)
    expect(readdirSync(place)).toEqual(['target'])
  })

  it('take broken records for what they are', { timeout: 60_000 }, () => {
    const { output } = store(['pack', at('source')])
    const change = fc.tuple(fc.integer({ min: 0, max: output.length - 1 }), fc.integer({ min: 1, max: 255 }))
    fc.assert(
      fc.property(fc.array(change, { maxLength: 4 }), fc.integer({ min: 0, max: output.length }), (changes, length) => {
        const broken = Buffer.from(output)
        for (const [index, value] of changes) broken.writeUInt8(broken.readUInt8(index) ^ value, index)
        rmSync(at('target'), { recursive: true })
        mkdirSync(at('target'))
        const { status, errors } = store(['unpack', at('target')], broken.subarray(0, length))
        // Nothing but an error number, also under sanitizers, and nothing beside the target.
        if (status !== 0) expect(errors).toMatch(/^\d+ unpack/)
        expect(readdirSync(place).toSorted()).toEqual(['source', 'target'])
      }),
      { numRuns: 60 },
    )
  })
})

it('serves operations one after the other', () => {
  const request = (...words: string[]): Buffer => {
    const bytes = Buffer.from(words.map((word) => `${word}\0`).join(''))
    const length = Buffer.alloc(4)
    length.writeUInt32LE(bytes.length)
    return Buffer.concat([length, bytes])
  }
  const wrong = Buffer.concat([Buffer.from([3, 0, 0, 0]), Buffer.from('abc')])
  const requests = [request('bytes', at('target')), wrong, request('usage', at('nothing')), request('unknown', 'x')]
  const { status, output } = store(['serve'], Buffer.concat(requests))
  const answers: string[] = []
  for (let start = 0; start < output.length; start += 4 + output.readUInt32LE(start)) {
    answers.push(output.toString('utf8', start + 4, start + 4 + output.readUInt32LE(start)))
  }
  expect(status).toBe(0)
  expect(answers).toEqual([
    '0 0\n',
    '22 called wrongly: Invalid argument',
    expect.stringMatching(/^2 usage /),
    '22 called wrongly: Invalid argument',
  ])
  // What would be too long is not waited for.
  expect(store(['serve'], Buffer.from([255, 255, 255, 255])).status).toBe(1)
})
