import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { writeCpio } from './cpio.ts'

const directory = mkdtempSync(join(tmpdir(), 'hearth-cpio-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const entries = [
  { kind: 'directory', path: 'dev', mode: 0o755 },
  { kind: 'device', path: 'dev/console', mode: 0o600, major: 5, minor: 1 },
  { kind: 'file', path: 'init', mode: 0o755, content: Buffer.from('hello') },
  { kind: 'file', path: 'empty', mode: 0o644, content: Buffer.alloc(0) },
] as const

/** The tool is not on every host; where it is, it is the judge. */
function hasCpio(): boolean {
  try {
    execFileSync('cpio', ['--version'], { stdio: 'ignore' })
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOENT'
  }
}

describe('writeCpio', () => {
  test.skipIf(!hasCpio())('is an archive that cpio unpacks', () => {
    const files = entries.filter((entry) => entry.kind !== 'device')
    execFileSync('cpio', ['-idm', '--quiet'], { cwd: directory, input: writeCpio(files) })
    expect(readFileSync(join(directory, 'init'), 'utf8')).toBe('hello')
    expect(statSync(join(directory, 'init')).mode & 0o777).toBe(0o755)
    expect(statSync(join(directory, 'empty')).size).toBe(0)
  })

  test('aligns every header to four bytes and ends with a trailer', () => {
    const archive = writeCpio(entries).toString('latin1')
    const starts = [...archive.matchAll(/070701/g)].map((match) => match.index)
    expect(starts).toHaveLength(entries.length + 1)
    expect(starts.every((start) => start % 4 === 0)).toBe(true)
    expect(archive).toContain('TRAILER!!!\0')
  })

  test('is the same for the same entries', () => {
    expect(writeCpio(entries).equals(writeCpio(entries))).toBe(true)
  })
})
