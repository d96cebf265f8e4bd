import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { newPlaceholder } from './placeholder.ts'
import { Scrubber } from './scrubber.ts'

const value = 'ghp_Zk3"/x\\y+QwErTy0123456789'
const placeholder = newPlaceholder(value)
const scrubber = new Scrubber([{ value, placeholder }])

function throughStream(text: Buffer, cuts: readonly number[]): Buffer {
  const stream = scrubber.stream()
  const parts: Buffer[] = []
  let from = 0
  for (const cut of [...cuts.toSorted((one, other) => one - other), text.length]) {
    const at = Math.max(from, Math.min(cut, text.length))
    parts.push(stream.write(text.subarray(from, at)))
    from = at
  }
  return Buffer.concat([...parts, stream.end()])
}

const encodings: readonly (readonly [string, (secret: string) => string])[] = [
  ['plain', (secret) => secret],
  ['percent', (secret) => encodeURIComponent(secret)],
  ['percent of everything', (secret) => Array.from(Buffer.from(secret), (byte) => `%${byte.toString(16)}`).join('')],
  ['percent twice', (secret) => encodeURIComponent(encodeURIComponent(secret))],
  ['JSON', (secret) => JSON.stringify(secret)],
  [
    'JSON in \\u',
    (secret) => Array.from(secret, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`).join(''),
  ],
  ['HTML', (secret) => Array.from(secret, (one) => `&#${one.charCodeAt(0)};`).join('')],
  ['base64', (secret) => Buffer.from(secret).toString('base64')],
  ['base64 after one byte', (secret) => Buffer.from(`a${secret}zz`).toString('base64')],
  ['base64 after two bytes', (secret) => Buffer.from(`user${secret}z`).toString('base64')],
  ['hexadecimal', (secret) => Buffer.from(secret).toString('hex')],
  ['hexadecimal in capitals', (secret) => Buffer.from(secret).toString('hex').toUpperCase()],
  ['UTF-16', (secret) => Buffer.from(secret, 'utf16le').toString('latin1')],
  ['base64 in a URL', (secret) => encodeURIComponent(Buffer.from(secret).toString('base64'))],
  ['base64url', (secret) => Buffer.from(`ab${secret}`).toString('base64url')],
  ['MIME', (secret) => lines(Buffer.from(`${'x'.repeat(40)}${secret}`).toString('base64'), 76, '\r\n')],
  ['base64 in lines', (secret) => lines(Buffer.from(`ab${secret}`).toString('base64'), 10, '\n')],
  ['base64 in lines in JSON', (secret) => lines(Buffer.from(`abc${secret}`).toString('base64'), 10, '\\n')],
  ['the same within JSON', (secret) => lines(Buffer.from(secret).toString('base64'), 12, '\\\\r\\\\n')],
  ['base64 letter by letter', (secret) => lines(Buffer.from(secret).toString('base64'), 1, '\n')],
  ['base64 in lines in a URL', (secret) => encodeURIComponent(lines(Buffer.from(secret).toString('base64'), 10, '\n'))],
  ['hexadecimal in lines', (secret) => lines(Buffer.from(secret).toString('hex'), 16, '\n')],
  ['hexadecimal with colons', (secret) => pairs(Buffer.from(secret).toString('hex'), ':')],
  ['hexadecimal with spaces', (secret) => pairs(Buffer.from(secret).toString('hex').toUpperCase(), ' ')],
  ['JSON within JSON', (secret) => JSON.stringify(JSON.stringify(secret))],
  ['JSON within JSON within JSON', (secret) => JSON.stringify(JSON.stringify(JSON.stringify(secret)))],
  ['JSON with all slashes', (secret) => JSON.stringify(secret).replaceAll('/', '\\/').replaceAll('+', '\\u002B')],
  [
    'that within JSON',
    (secret) => JSON.stringify(JSON.stringify(secret).replaceAll('/', '\\/').replaceAll('+', '\\u002B')),
  ],
  [
    'that within JSON with all slashes',
    (secret) => JSON.stringify(JSON.stringify(secret).replaceAll('/', '\\/')).replaceAll('/', '\\/'),
  ],
  ['JSON in a URL', (secret) => encodeURIComponent(JSON.stringify(secret).replaceAll('+', '\\u002B'))],
  ['JSON in HTML', (secret) => JSON.stringify(secret).replaceAll('"', '&quot;')],
  ['HTML in JSON', (secret) => JSON.stringify(escapeHtml(secret)).replaceAll('&', '\\u0026')],
  ['HTML in HTML', (secret) => escapeHtml(secret).replaceAll('&', '&amp;')],
  ['HTML by names', (secret) => escapeHtml(secret)],
  ['HTML without ;', (secret) => secret.replaceAll(/[^A-Za-z0-9]/g, (one) => `&#x${one.charCodeAt(0).toString(16)}`)],
  ['code points', (secret) => Array.from(secret, (one) => `\\u{${one.charCodeAt(0).toString(16)}}`).join('')],
  ['percent three times', (secret) => encodeURIComponent(encodeURIComponent(encodeURIComponent(secret)))],
  ['quoted-printable', (secret) => lines(secret, 9, '=\r\n').replaceAll(/[^A-Za-z0-9_=\r\n]/g, quotedPrintable)],
  ['UTF-16 the other way', (secret) => Buffer.from(secret, 'utf16le').swap16().toString('latin1')],
]

function lines(text: string, width: number, between: string): string {
  return text.match(new RegExp(`.{1,${width}}`, 'g'))?.join(between) ?? text
}

function pairs(text: string, between: string): string {
  return lines(text, 2, between)
}

const ENTITIES: Readonly<Record<string, string>> = {
  '"': '&quot;',
  '&': '&amp;',
  '+': '&plus;',
  '/': '&sol;',
  '\\': '&bsol;',
  _: '&lowbar;',
}

function escapeHtml(text: string): string {
  return text.replaceAll(/["&+/\\_]/g, (one) => ENTITIES[one] ?? one)
}

function quotedPrintable(one: string): string {
  return `=${one.charCodeAt(0).toString(16).padStart(2, '0').toUpperCase()}`
}

describe('the scrubber', () => {
  it.each(encodings)('%s: gone, however the stream is cut', (_name, encode) => {
    const secret = encode(value)
    const text = Buffer.from(`before ${secret} after ${secret}`)
    fc.assert(
      fc.property(fc.array(fc.nat(text.length), { maxLength: 6 }), (cuts) => {
        const out = throughStream(text, cuts).toString()
        // A placeholder begins as its value does, and may by chance go on so for another character or two.
        expect(out).not.toContain(secret.slice(0, 60))
        expect(out).toHaveLength(text.length)
        expect(out).toMatch(/^before .* after /s)
        expect(decodings(out).some((decoded) => decoded.includes(value))).toBe(false)
      }),
      { numRuns: 60 },
    )
  })

  it('is gone with any of its characters escaped in any way', () => {
    const ways = [
      (byte: number) => String.fromCharCode(byte),
      (byte: number) => `%${byte.toString(16)}`,
      (byte: number) => `%${byte.toString(16).toUpperCase()}`,
      (byte: number) => `%25${byte.toString(16)}`,
      (byte: number) => `\\u00${byte.toString(16)}`,
      (byte: number) => `\\x${byte.toString(16)}`,
      (byte: number) => `&#${byte};`,
      (byte: number) => `&#x00${byte.toString(16)};`,
      (byte: number) => `%2525${byte.toString(16)}`,
      (byte: number) => `=${byte.toString(16)}`,
      (byte: number) => `\\\\u00${byte.toString(16)}`,
      (byte: number) => `\\u{${byte.toString(16)}}`,
      (byte: number) => `%5Cu00${byte.toString(16)}`,
      (byte: number) => `&amp;#${byte};`,
      (byte: number) => `=\r\n${String.fromCharCode(byte)}`,
    ]
    fc.assert(
      fc.property(
        fc.array(fc.nat(ways.length - 1), { minLength: value.length, maxLength: value.length }),
        fc.array(fc.nat(400), { maxLength: 6 }),
        fc.oneof(
          fc.uint8Array({ maxLength: 120 }),
          fc.constantFrom(
            '%41%'.repeat(9),
            'plain text, & more of it. '.repeat(4),
            'A0'.repeat(200),
            '&amp;x'.repeat(30),
          ),
        ),
        // What can be in a value or an escape itself, and what cannot.
        fc.constantFrom('<', 'y', '%', '"', '='),
        (chosen, cuts, around, joint) => {
          // A bare backslash before an escape is no way to write anything.
          const way = (one: string, at: number): number => (one === '\\' ? 4 : (chosen[at] ?? 0))
          const text = Array.from(value, (one, at) => ways[way(one, at)]?.(one.charCodeAt(0)) ?? '').join('')
          const before = Buffer.from(around).toString('latin1')
          const whole = `${before}${joint}${text}${joint}${before}`
          const out = throughStream(Buffer.from(whole, 'latin1'), cuts).toString('latin1')
          expect(out).toHaveLength(whole.length)
          expect(out).not.toContain(text)
        },
      ),
      { numRuns: 600 },
    )
    const named = 'a"b<c>d&e\'f0'
    const other = new Scrubber([{ value: named, placeholder: 'x'.repeat(24) }])
    expect(other.text('a&quot;b&lt;c&gt;d&amp;e&apos;f0')).toBe('*xxxxxx*xxxx*xxxx*xxxxx*xxxxxx**')
  })

  it('leaves everything else as it is', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 500 }), fc.array(fc.nat(500), { maxLength: 5 }), (bytes, cuts) => {
        expect(throughStream(Buffer.from(bytes), cuts).equals(Buffer.from(bytes))).toBe(true)
      }),
    )
    const text = 'a%20b & c \\n '.repeat(20)
    expect(throughStream(Buffer.from(text), [3, 50, 51]).toString()).toBe(text)
  })

  it.each(encodings)('%s: gone at the end of a body', (_name, encode) => {
    const text = Buffer.from(`x ${encode(value)}`, 'latin1')
    expect(throughStream(text, []).equals(text)).toBe(false)
    expect(throughStream(text, [text.length - 3]).toString('latin1')).not.toContain(encode(value).slice(9))
  })

  it.each(['\n\n', ''])(
    'what ends like the beginning of a secret does not wait, and the secret is gone all the same: %j',
    (end) => {
      const encoded = Buffer.from(value).toString('base64')
      const [first, rest] = [encoded.slice(0, 2), encoded.slice(2)]
      const stream = scrubber.stream()
      expect(stream.write(Buffer.from(`data: ${first}${end}`)).toString()).toBe(`data: ${first}${end}`)
      const out = Buffer.concat([stream.write(Buffer.from(`${rest}\n`)), stream.end()]).toString()
      expect(out).not.toContain(rest.slice(0, 8))
      expect(out).toHaveLength(rest.length + 1)
    },
  )

  it('headers', () => {
    expect(scrubber.text(`token=${value}; x`)).toBe(`token=${placeholder}; x`)
  })

  it('holds back little', () => {
    const stream = scrubber.stream()
    const chunk = Buffer.alloc(65_536, 'x')
    expect(stream.write(chunk).length).toBe(chunk.length)
  })
})

function decodings(text: string): string[] {
  const words = text.split(/[^A-Za-z0-9+/_=-]+/)
  return [...words.map((word) => Buffer.from(word, 'base64').toString()), text]
}

describe('placeholders', () => {
  it.each([
    'ghp_0123456789abcdefABCDEF0123456789abcd',
    'sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789',
    'AKIAIOSFODNN7EXAMPLEAA',
  ])('of %s have its shape', (secret) => {
    const made = newPlaceholder(secret)
    expect(made).not.toBe(secret)
    expect(made).toHaveLength(secret.length)
    expect(made.replaceAll(/[a-z]/g, 'a').replaceAll(/[A-Z]/g, 'A').replaceAll(/\d/g, '0')).toBe(
      secret.replaceAll(/[a-z]/g, 'a').replaceAll(/[A-Z]/g, 'A').replaceAll(/\d/g, '0'),
    )
    expect(made.slice(0, 3)).toBe(secret.slice(0, 3))
    expect(newPlaceholder(secret)).not.toBe(made)
  })

  it('of a short secret are longer, so that nobody guesses them', () => {
    expect(newPlaceholder('hunter2!').length).toBeGreaterThanOrEqual(24)
  })
})

describe('of a secret its placeholder', () => {
  it.each([
    ['3f2b8c1a-9d4e-4f6a-8b7c-1234567890ab', ''],
    ['correct-horse-battery-staple-of-a-long-passphrase', ''],
    ['Ab3-x9_Qkk2-lMnOp_qrsTuVwXyZ0123456789AbCdEfGh', ''],
    ['abc_Qkk2lMnOpqrsTuVwXyZ0123456789AbCdEf-GhIjKl', ''],
    ['!x#9$aB&c*Z{q}7~|t?R<m>K^e@w!x#9$aB&c*Z{q}7~|t', ''],
    ['sk-ant-api03-Ab3-x9_Qkk2-lMnOp_qrsTuVwXyZ0123456789', 'sk-ant-api03-'],
    ['github_pat_11ABCDEFG0Ab3x9_Qkk2lMnOpqrsTuVwXyZ012345', 'github_pat_'],
    ['acme_v1_Qkk2lMnOpqrsTuVwXyZ0123456789AbCdEf', 'acme_v1_'],
  ])('%s tells nothing but its kind: %j', (secret, kind) => {
    const made = Array.from({ length: 64 }, () => newPlaceholder(secret))
    for (const one of made) expect(one.startsWith(kind)).toBe(true)
    const kept = Array.from(secret.slice(kind.length), (character, at) =>
      made.every((one) => one.charAt(kind.length + at) === character) ? character : '',
    )
    expect(kept.join('')).toMatch(/^[-_.:=]*$/)
  })
})

describe('names of headers', () => {
  it.each(encodings.slice(0, 2).concat(encodings.filter(([name]) => /base64|hexa/.test(name))))(
    'the name of a header that holds it in %s is found, though it has lost its case',
    (_name, encode) => {
      expect(scrubber.isInName(`x-${encode(value)}`)).toBe(true)
      expect(scrubber.isInName(`x-${encode(value).toLowerCase()}`)).toBe(true)
      expect(scrubber.isInName('x-request-id')).toBe(false)
    },
  )
})
