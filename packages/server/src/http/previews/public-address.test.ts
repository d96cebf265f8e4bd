import type { IncomingMessage } from 'node:http'
import { describe, expect, it } from 'vitest'
import { linkUrl, publicAddress } from './public-address.ts'

const target = { sandbox: 'sb_01jd4q2m8r0000000000', port: 8000 }
const outside = { headers: { host: '192.0.2.7:7070' } } as IncomingMessage

function linkOf(options: Parameters<typeof publicAddress>[0], form?: 'host' | 'path', isInside = false): string {
  const inside = { sandboxOf: () => (isInside ? target.sandbox : null) }
  const services = { preview: publicAddress(options, () => 7070), inside } as unknown as Parameters<typeof linkUrl>[0]
  return linkUrl(services, { target, token: 'T', form }, outside)
}

describe('the address of a link', () => {
  it.each<[Parameters<typeof linkOf>, string]>([
    [[{}], 'http://8000-sb-01jd4q2m8r0000000000.localhost:7070/?hearth_link=T'],
    [[{}, 'path'], 'http://192.0.2.7:7070/preview/T/'],
    // A name that only sandboxes know is of no use to others.
    [[{}, 'path', true], 'http://localhost:7070/preview/T/'],
    [
      [{ previewDomain: 'preview.example.com' }],
      'http://8000-sb-01jd4q2m8r0000000000.preview.example.com:7070/?hearth_link=T',
    ],
    [[{ publicUrl: 'https://hearth.example.com' }], 'https://hearth.example.com/preview/T/'],
    [
      [{ publicUrl: 'https://hearth.example.com' }, 'host'],
      'http://8000-sb-01jd4q2m8r0000000000.localhost:7070/?hearth_link=T',
    ],
    [
      [{ publicUrl: 'https://hearth.example.com', previewDomain: '*.Preview.example.com' }],
      'https://8000-sb-01jd4q2m8r0000000000.preview.example.com/?hearth_link=T',
    ],
    [
      [{ publicUrl: 'https://hearth.example.com:8443/', previewDomain: 'example.com' }],
      'https://8000-sb-01jd4q2m8r0000000000.example.com:8443/?hearth_link=T',
    ],
  ])('%j', (options, url) => {
    expect(linkOf(...options)).toBe(url)
  })

  it.each([
    { publicUrl: 'hearth.example.com' },
    { publicUrl: 'ftp://hearth.example.com' },
    { publicUrl: 'https://hearth.example.com/below' },
    { publicUrl: 'https://user@hearth.example.com' },
    { previewDomain: '' },
    { previewDomain: 'a b' },
    { previewDomain: 'preview.example.com:443' },
    { previewDomain: '-x.example.com' },
  ])('refuses %j', (options) => {
    expect(() => publicAddress(options, () => 7070)).toThrow(/must be/)
  })
})
