import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { hostPaths } from '../../host/host.ts'
import { makeTar } from '../tar/make-tar.ts'
import { TemplateStore } from '../template-store.ts'
import type { DirectoryTemplate } from '../template.ts'
import { configOf, layer, pushImage } from './test-registry/images.ts'
import { LocalRegistry } from './test-registry/local-registry.ts'

let home: string
let store: TemplateStore
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'hearth-archive-'))
  store = new TemplateStore(hostPaths({ HEARTH_HOME: home }))
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

async function pull(name: string): Promise<DirectoryTemplate> {
  const template = await store.resolve(name)
  if (template.kind !== 'directory') throw new Error('not a directory')
  return template
}

const base = layer([{ path: 'etc/name', content: 'base' }])

describe('image archives', () => {
  it('of skopeo and as a layout', { timeout: 30_000 }, async () => {
    await using registry = await LocalRegistry.start()
    await pushImage(registry, ['archived', 'x'], [base], { family: 'DOCKER' })
    const forms = { 'docker-archive': 'saved.tar', 'oci-archive': 'layout.tar', oci: 'layout' }
    for (const [form, file] of Object.entries(forms)) {
      const path = join(home, file)
      const copy = ['copy', '--src-tls-verify=false', `docker://${registry.host}/archived:x`, `${form}:${path}`]
      execFileSync('skopeo', ['--insecure-policy', ...copy], { stdio: 'pipe' })
      const { root } = await pull(`archive:${path}`)
      expect(readFileSync(join(root, 'etc/name'), 'utf8')).toBe('base')
    }
  })

  it('that change are read again', async () => {
    const path = join(home, 'image.tar')
    const save = (content: string): void => {
      const each = layer([{ path: 'file', content }], 'none')
      const manifest = JSON.stringify([{ Config: 'config.json', Layers: ['layer.tar'] }])
      const config = configOf([each])
      writeFileSync(
        path,
        makeTar([
          { path: 'manifest.json', content: manifest },
          { path: 'config.json', content: config },
          { path: 'layer.tar', content: each.tar },
        ]),
      )
    }
    save('first')
    const first = await pull(`archive:${path}`)
    save('second!')
    const second = await pull(`archive:${path}`)
    expect([first, second].map(({ root }) => readFileSync(join(root, 'file'), 'utf8'))).toEqual(['first', 'second!'])
  })

  it('that are not there, are none, or lead out', async () => {
    await expect(pull(`archive:${home}/none.tar`)).rejects.toMatchObject({ code: 'template_not_found' })
    writeFileSync(join(home, 'text.tar'), 'text')
    await expect(pull(`archive:${home}/text.tar`)).rejects.toMatchObject({ code: 'image_invalid' })
    const manifest = JSON.stringify([{ Config: '../../../../../../etc/passwd', Layers: [] }])
    writeFileSync(join(home, 'out.tar'), makeTar([{ path: 'manifest.json', content: manifest }]))
    await expect(pull(`archive:${home}/out.tar`)).rejects.toMatchObject({ code: 'image_invalid' })
    const linked = [
      { path: 'manifest.json', content: JSON.stringify([{ Config: 'c', Layers: [] }]) },
      { path: 'c', type: 'symlink' as const, target: '/etc/passwd' },
    ]
    writeFileSync(join(home, 'link.tar'), makeTar(linked))
    await expect(pull(`archive:${home}/link.tar`)).rejects.toMatchObject({ code: 'image_invalid' })
    expect(readdirSync(join(home, 'templates/building'))).toEqual([])
  })
})
