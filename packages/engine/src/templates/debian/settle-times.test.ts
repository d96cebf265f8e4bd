import { lutimesSync, lstatSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { settleTimes } from './settle-times.ts'

const directory = mkdtempSync(join(tmpdir(), 'hearth-times-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

test('what a build has written has the time of the newest file that it was given', async () => {
  const root = join(directory, 'root')
  const outside = join(directory, 'outside')
  const began = new Date('2020-06-01')
  const [old, packaged, built] = [new Date('2010-01-01'), new Date('2020-05-01'), new Date('2020-06-02')]
  mkdirSync(join(root, 'etc'), { recursive: true })
  for (const path of [outside, join(root, 'etc/old'), join(root, 'etc/packaged'), join(root, 'etc/built')])
    writeFileSync(path, '')
  symlinkSync(outside, join(root, 'etc/link'))
  utimesSync(join(root, 'etc/old'), old, old)
  utimesSync(join(root, 'etc/packaged'), packaged, packaged)
  utimesSync(join(root, 'etc/built'), built, built)
  lutimesSync(join(root, 'etc/link'), built, built)
  utimesSync(outside, built, built)
  await settleTimes(root, began)
  const times = ['etc', 'etc/old', 'etc/packaged', 'etc/built', 'etc/link'].map((path) =>
    lstatSync(join(root, path)).mtime.toISOString(),
  )
  expect(times).toEqual([packaged, old, packaged, packaged, packaged].map((time) => time.toISOString()))
  expect(lstatSync(outside).mtime).toEqual(built)
})
