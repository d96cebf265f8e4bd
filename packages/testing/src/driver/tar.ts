import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Sandbox } from '@hearth/contract'
import { collect, expectRefusal, scratch } from '../support/expectations.ts'
import type { Suite } from '../support/suite.ts'
import { tarOf, type TarEntry } from '../support/tar.ts'

const LONG = `${'d'.repeat(90)}/${'e'.repeat(90)}/${'f'.repeat(150)}`

/** Archives whose entries try to leave the directory; `victim` lies beside it. */
const ESCAPES: Readonly<Record<string, (victim: string) => TarEntry[]>> = {
  'a name with dot-dot': () => [{ name: '../victim', type: '0', content: 'evil' }],
  'a hidden dot-dot': () => [{ name: 'a/../../victim', type: '0', content: 'evil' }],
  'a symlink and a file below it': () => [
    { name: 'link', type: '2', link: '..' },
    { name: 'link/victim', type: '0', content: 'evil' },
  ],
  'an absolute symlink and a file below it': (victim) => [
    { name: 'link', type: '2', link: victim.slice(0, victim.lastIndexOf('/')) },
    { name: 'link/victim', type: '0', content: 'evil' },
  ],
  'a symlink that is then written': (victim) => [
    { name: 'link', type: '2', link: victim },
    { name: 'link', type: '0', content: 'evil' },
  ],
  'a hard link outside, then written': (victim) => [
    { name: 'hard', type: '1', link: victim },
    { name: 'hard', type: '0', content: 'evil' },
  ],
  'a hard link with dot-dot': () => [
    { name: 'hard', type: '1', link: '../victim' },
    { name: 'hard', type: '0', content: 'evil' },
  ],
}

async function extractIgnoringRefusal(sandbox: Sandbox, path: string, archive: Buffer): Promise<void> {
  await sandbox.files.extract(path, archive).catch(() => undefined)
}

export function describeTar(suite: Suite): void {
  suite.test('a tree goes out and in again, whole', { timeoutMs: 60_000 }, async (sandbox) => {
    const source = scratch('source')
    const target = scratch('target')
    await sandbox.files.write(`${source}/file ü`, 'content', { mode: 0o640 })
    await sandbox.files.write(`${source}/program`, '#!/bin/sh\n', { mode: 0o755 })
    await sandbox.files.write(`${source}/${LONG}`, 'deep')
    await sandbox.files.makeDirectory(`${source}/empty`)
    await sandbox.files.symlink('program', `${source}/link`)
    await sandbox.files.write(`${source}/large`, Buffer.alloc(3_000_000, 7))
    await sandbox.files.makeDirectory(target)
    await sandbox.files.extract(target, sandbox.files.archive(source))
    const tree = async (root: string): Promise<unknown> =>
      (await sandbox.files.list(root, { depth: 5 })).map((entry) => ({
        ...entry,
        path: entry.path.slice(root.length),
        size: entry.type === 'file' ? entry.size : 0,
        modifiedAt: null,
      }))
    expect(await tree(target)).toEqual(await tree(source))
    expect(await sandbox.files.readText(`${target}/${LONG}`)).toBe('deep')
  })

  suite.test('other programs read what is archived', {}, async (sandbox) => {
    const source = scratch('foreign')
    await sandbox.files.write(`${source}/${LONG}`, 'deep')
    await sandbox.files.symlink('nowhere', `${source}/link`)
    const archive = await collect(sandbox.files.archive(source))
    const listing = execFileSync('tar', ['-tf', '-'], { input: archive }).toString()
    expect(listing).toContain(LONG)
    expect(listing).toContain('link')
  })

  suite.test('archives of other programs are extracted', {}, async (sandbox) => {
    const directory = mkdtempSync(join(tmpdir(), 'hearth-tar-'))
    try {
      mkdirSync(join(directory, 'd'.repeat(90), 'e'.repeat(90)), { recursive: true })
      writeFileSync(join(directory, LONG), 'deep')
      writeFileSync(join(directory, 'ü'), 'unicode')
      symlinkSync('ü', join(directory, 'link'))
      for (const format of ['gnu', 'pax']) {
        const target = scratch(format)
        await sandbox.files.makeDirectory(target)
        await sandbox.files.extract(
          target,
          execFileSync('tar', [`--format=${format}`, '-C', directory, '-cf', '-', '.']),
        )
        expect(await sandbox.files.readText(`${target}/${LONG}`)).toBe('deep')
        expect(await sandbox.files.readText(`${target}/link`)).toBe('unicode')
      }
    } finally {
      rmSync(directory, { recursive: true })
    }
  })

  for (const [name, entries] of Object.entries(ESCAPES)) {
    suite.test(`an archive does not leave its directory by ${name}`, {}, async (sandbox) => {
      const root = scratch('escape')
      await sandbox.files.write(`${root}/victim`, 'intact')
      await sandbox.files.makeDirectory(`${root}/into`)
      await extractIgnoringRefusal(sandbox, `${root}/into`, tarOf(entries(`${root}/victim`)))
      expect(await sandbox.files.readText(`${root}/victim`)).toBe('intact')
    })
  }

  suite.test('entries that leave the directory are refused', {}, async (sandbox) => {
    const root = scratch('refused')
    await sandbox.files.makeDirectory(root)
    const evil = tarOf([{ name: '../evil', type: '0', content: 'evil' }])
    await expectRefusal(sandbox.files.extract(root, evil), 'permission_denied', 'file_failed', 'invalid_request')
  })

  suite.test('broken archives are refused', {}, async (sandbox) => {
    const root = scratch('broken')
    await sandbox.files.makeDirectory(root)
    const whole = tarOf([{ name: 'file', type: '0', content: 'x'.repeat(5000) }])
    const broken = [
      whole.subarray(0, 2000),
      Buffer.alloc(4096, 'garbage'),
      tarOf([{ name: 'huge', type: '0', size: 8 ** 11 - 1 }]).subarray(0, 512),
    ]
    for (const archive of broken)
      await expectRefusal(sandbox.files.extract(root, archive), 'file_failed', 'invalid_request')
    expect(await sandbox.exec('echo usable')).toMatchObject({ stdout: 'usable\n' })
  })
}
