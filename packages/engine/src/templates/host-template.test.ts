import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { readHostTemplate } from './host-template.ts'
import type { HostTemplate } from './template.ts'

const home = mkdtempSync(join(tmpdir(), 'hearth-host-template-'))
afterAll(() => rmSync(home, { recursive: true }))

/** Runs a command in the template with bubblewrap alone, so that a missing file shows. */
function run(template: HostTemplate, ...command: string[]): string {
  const files = template.files.flatMap(({ path, content }, index) => {
    writeFileSync(join(home, `${index}`), content)
    return ['--ro-bind', join(home, `${index}`), path]
  })
  const options = [
    ...template.mounts.flatMap(({ source, target }) => ['--ro-bind', source, target]),
    ...template.symlinks.flatMap(({ path, target }) => ['--symlink', target, path]),
    ...files,
    '--proc',
    '/proc',
    '--dev',
    '/dev',
    '--tmpfs',
    '/tmp',
    '--unshare-all',
    '--clearenv',
    ...Object.entries(template.environment).flatMap(([name, value]) => ['--setenv', name, value]),
  ]
  return execFileSync('bwrap', [...options, ...command], { encoding: 'utf8' })
}

describe('host template', () => {
  it('shows nothing of the host but its toolchain', async () => {
    const template = await readHostTemplate({ home })
    const shown = [...template.mounts.map(({ source }) => source), ...template.files.map(({ path }) => path)]
    for (const path of shown) expect(path).toMatch(/^\/(usr|bin|sbin|lib\w*|etc\/[A-Za-z0-9.\-_/]+)$/)
    for (const path of ['/etc', '/etc/shadow', '/etc/ssl', '/etc/ssl/private', '/etc/gitconfig', '/etc/pip.conf']) {
      expect(shown).not.toContain(path)
    }
  })

  it('runs the tools of the host, found in /usr alone', async () => {
    const template = await readHostTemplate({ home })
    expect(run(template, 'python3', '-c', 'import sys, ssl; print(sys.executable)').trim()).toBe('/usr/bin/python3')
    expect(run(template, 'git', '--version')).toMatch(/^git version/)
    expect(run(template, 'sh', '-c', 'getent passwd user; ls /')).toMatch(/^user:x:1000:1000:.*\nbin\ndev\netc\nlib/)
    expect(run(template, 'sh', '-c', 'awk "BEGIN { print 1 }"')).toBe('1\n')
  })

  it('has a digest that stays the same while the host does', async () => {
    expect((await readHostTemplate({ home })).digest).toBe((await readHostTemplate({ home })).digest)
  })

  it('refuses a home that it would show', async () => {
    await expect(readHostTemplate({ home: '/usr/local/hearth' })).rejects.toMatchObject({
      code: 'template_unsupported',
    })
  })
})
