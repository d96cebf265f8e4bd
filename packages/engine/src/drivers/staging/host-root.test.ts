import { lstat, mkdtemp, readFile, readlink, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { hostPaths } from '../../host/host.ts'
import { readHostTemplate } from '../../templates/host-template.ts'
import { hostRoot, mountedParts } from './host-root.ts'

let home = ''
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'hearth-host-root-'))
})
afterAll(async () => await rm(home, { recursive: true, force: true }))

it('has the files, links and empty places of the template, and nothing of the host itself', async () => {
  const paths = hostPaths({ HEARTH_HOME: home })
  const template = await readHostTemplate(paths)
  const root = await hostRoot(template, paths)
  expect(await hostRoot(template, paths)).toBe(root)
  expect(await readFile(join(root, 'etc/hosts'), 'utf8')).toContain('127.0.0.1 localhost')
  for (const { path, target } of template.symlinks) expect(await readlink(join(root, path))).toBe(target)
  expect(mountedParts(template).map(({ target }) => target)).toContain('/usr')
  for (const { target } of mountedParts(template)) {
    const status = await lstat(join(root, target))
    expect(status.isDirectory() || status.size === 0, target).toBe(true)
  }
  for (const { source, target } of template.mounts.filter((mount) => !mountedParts(template).includes(mount))) {
    expect((await lstat(join(root, target))).isDirectory(), target).toBe((await stat(source)).isDirectory())
  }
  const mode = async (path: string): Promise<number> => (await lstat(join(root, path))).mode & 0o7777
  expect([await mode('tmp'), await mode('var/tmp'), await mode('root'), await mode('')]).toEqual([
    0o1777, 0o1777, 0o700, 0o755,
  ])
})
