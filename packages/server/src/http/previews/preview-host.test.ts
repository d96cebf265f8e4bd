import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { newSandboxId } from '@hearth/contract'
import { parsePortPath } from './port-path.ts'
import { parseHost, previewHost } from './preview-host.ts'

describe('names of previews', () => {
  it('is read back as it was made', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 65_535 }),
        fc.constantFrom('localhost', 'preview.example.com'),
        fc.boolean(),
        (port, domain, dashed) => {
          const target = { sandbox: newSandboxId(), port }
          const host = dashed ? previewHost(target, domain) : `${port}-${target.sandbox}.${domain}`
          expect(parseHost(`${host.toUpperCase()}:7070`, domain)).toEqual({ kind: 'preview', target })
        },
      ),
    )
  })

  it('is never a preview by accident', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 60 }), (text) => {
        expect(parseHost(`${text}.localhost`, 'localhost').kind).not.toBe('preview')
        expect(parseHost(text, 'localhost').kind).not.toBe('preview')
      }),
    )
    expect(parseHost(undefined, 'localhost').kind).toBe('api')
    expect(parseHost('localhost', 'localhost').kind).toBe('api')
    expect(parseHost('evillocalhost', 'localhost').kind).toBe('api')
  })
})

describe('paths of ports', () => {
  it('keeps the rest as it was sent', () => {
    const id = newSandboxId()
    const base = `/v1/sandboxes/${id}/ports/80`
    expect(parsePortPath(base)).toEqual({ sandbox: id, port: 80, path: '/' })
    expect(parsePortPath(`${base}?a=b`)).toEqual({ sandbox: id, port: 80, path: '/?a=b' })
    expect(parsePortPath(`${base}/%2e%2e//x?y=/..`)).toEqual({ sandbox: id, port: 80, path: '/%2e%2e//x?y=/..' })
    for (const wrong of [
      '',
      '/',
      `${base}0000`,
      `/v1/sandboxes/${id}/ports/0/`,
      `/v1/sandboxes/${id}/ports/080/`,
      `${base}#x`,
      `/x${base}`,
    ]) {
      expect(parsePortPath(wrong), wrong).toBeNull()
    }
  })
})
