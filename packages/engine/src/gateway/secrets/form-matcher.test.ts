import { describe, expect, it } from 'vitest'
import { newPlaceholder } from './placeholder.ts'
import { Scrubber } from './scrubber.ts'

const value = 'ghp_Zk3vQ9mT1xR7cL5bN8wY2pH6dF4sJ0aG'
const scrubber = new Scrubber([{ value, placeholder: newPlaceholder(value) }])
const encoded = Buffer.from(value).toString('base64')
const BYTES = 256 * 1024
/** Far more than is needed, also on a busy machine: text in which every reading opened others would take minutes. */
const PATIENCE_MS = 5000

describe('text that is made to be searched slowly', () => {
  it.each([
    ['backslashes', '\\'],
    ['percent signs', '%'],
    ['percent signs of percent signs', '%25'],
    ['ampersands', '&'],
    ['entities of ampersands', '&amp;'],
    ['equals signs', '='],
    ['soft breaks', '=\r\n'],
    ['escapes of backslashes', String.raw`\u005c`],
    ['escapes of all beginnings', '%5C%25%26%3D'],
    ['the first character, escaped', '%67'],
    ['almost the value', `${value.slice(0, -1)}%`],
    ['almost its base64, in lines', `${encoded.slice(0, 3)}\n${encoded.slice(3, 40)}\n`],
    ['zeros', '\0'],
  ])('%s', (_what, part) => {
    const began = performance.now()
    const stream = scrubber.stream()
    const text = Buffer.alloc(BYTES, part, 'latin1')
    for (let at = 0; at < BYTES; at += 16_384) stream.write(text.subarray(at, at + 16_384))
    stream.end()
    expect(performance.now() - began).toBeLessThan(PATIENCE_MS)
  })
})

describe('characters that begin escapes and are in the value themselves', () => {
  const odd = 'x%25&amp;=3D\\u0041%&=\\secret'
  const oddScrubber = new Scrubber([{ value: odd, placeholder: '*'.repeat(odd.length) }])

  it.each([
    ['as it is', odd],
    ['in a URL', encodeURIComponent(odd)],
    ['in JSON', JSON.stringify(odd)],
    ['in JSON within JSON', JSON.stringify(JSON.stringify(odd))],
    ['in JSON in a URL', encodeURIComponent(JSON.stringify(odd))],
    ['in HTML', odd.replaceAll('&', '&amp;')],
    ['with only its end escaped', `${odd.slice(0, -1)}%74`],
  ])('%s', (_how, text) => {
    const out = oddScrubber.text(`before ${text} after`)
    expect(out).not.toContain(text)
    expect(out).toHaveLength(text.length + 13)
  })
})
