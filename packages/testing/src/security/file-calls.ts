import { readFileSync, readdirSync } from 'node:fs'
import { expect } from 'vitest'
import { expectRefusal, scratch } from '../support/expectations.ts'
import type { Suite } from '../support/suite.ts'
import { tarOf } from '../support/tar.ts'
import type { Stage } from './stage.ts'

/** File calls come from the host: a path inside must never be resolved outside. */
export function describeFileCalls(suite: Suite, stage: () => Stage): void {
  suite.test('a symlink inside to a path of the host leads nowhere', {}, async (sandbox) => {
    const link = `${scratch('outward')}/link`
    await sandbox.files.makeDirectory(link.slice(0, -'/link'.length))
    await sandbox.files.symlink(stage().secretFile, link)
    await expectRefusal(sandbox.files.read(link), 'file_not_found')
    await sandbox.files.symlink(stage().directory, `${link}-directory`)
    await expectRefusal(sandbox.files.read(`${link}-directory/secret`), 'file_not_found')
    const listed = await sandbox.files.list(`${link}-directory`).catch(() => [])
    expect(listed.map((entry) => entry.name)).not.toContain('secret')
  })

  suite.test('writing through a symlink stays inside', {}, async (sandbox) => {
    const before = readdirSync(stage().directory)
    const link = `${scratch('outward')}/link`
    await sandbox.files.makeDirectory(link.slice(0, -'/link'.length))
    await sandbox.files.symlink(stage().directory, link)
    await sandbox.files.write(`${link}/written`, 'x').catch(() => undefined)
    await sandbox.files.makeDirectory(`${link}/made`, { parents: true }).catch(() => undefined)
    await sandbox.files.remove(`${link}/secret`).catch(() => undefined)
    await sandbox.files.chmod(`${link}/secret`, 0o777).catch(() => undefined)
    await sandbox.files.extract(link, tarOf([{ name: 'written', type: '0', content: 'x' }])).catch(() => undefined)
    expect(readdirSync(stage().directory)).toEqual(before)
    expect(readFileSync(stage().secretFile, 'utf8')).toBe(stage().secret)
  })

  suite.test('paths through /proc stay inside', { needs: ['processes'] }, async (sandbox) => {
    const roots = ['/proc/1/root', '/proc/self/root', '/proc/1/cwd', '/proc/self/cwd', '/proc/thread-self/root']
    for (const root of roots) {
      for (const climb of ['', '/..', '/../../../..']) {
        const read = await sandbox.files.readText(`${root}${climb}${stage().secretFile}`).catch(() => '')
        expect(read).not.toContain(stage().secret)
      }
    }
    for (let descriptor = 0; descriptor < 20; descriptor++) {
      const read = await sandbox.files
        .readText(`/proc/self/fd/${descriptor}/../../../../../..${stage().secretFile}`)
        .catch(() => '')
      expect(read).not.toContain(stage().secret)
    }
  })

  suite.test(
    'a directory that turns into a symlink while it is used',
    { needs: ['processes'], timeoutMs: 60_000 },
    async (sandbox) => {
      const before = readdirSync(stage().directory)
      const root = scratch('race')
      await sandbox.files.makeDirectory(`${root}/real`, { parents: true })
      const swap = `cd ${root}; while :; do mv real away; ln -s ${stage().directory} real; rm real; mv away real; done`
      await using racing = await sandbox.spawn(swap)
      let wrong = 0
      for (let round = 0; round < 60; round++) {
        await sandbox.files.write(`${root}/real/written`, 'x').catch(() => undefined)
        const read = await sandbox.files.readText(`${root}/real/secret`).catch(() => '')
        if (read.includes(stage().secret)) wrong++
        await sandbox.files.remove(`${root}/real/secret`, { recursive: true, force: true }).catch(() => undefined)
      }
      await racing.kill()
      expect(wrong).toBe(0)
      expect(readdirSync(stage().directory)).toEqual(before)
    },
  )
}
