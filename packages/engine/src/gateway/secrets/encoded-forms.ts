import { SHORTEST_SECRET } from '@hearth/contract'

/** One way in which a value can be written in a message. Any of its characters may be escaped besides, as in URLs, JSON or HTML. */
export interface EncodedForm {
  /** Which of the values it is. */
  readonly owner: number
  /** What is `packed` into letters may be broken into lines anywhere. What is `fixed` is found as it stands alone. */
  readonly kind: 'text' | 'packed' | 'fixed'
  readonly bytes: Buffer
  /** What stands in its place when it is taken out: as long as it is, so that nothing else moves. */
  readonly replacement: Buffer
}

type Written = readonly [kind: EncodedForm['kind'], text: string, instead: string]

/**
 * As it is, with `+` for spaces, in base64 at each of the three places where it can begin there, in hexadecimal, also with something between the
 * bytes, and in UTF-16.
 */
export function encodedForms(value: string, replacement: string, owner: number): EncodedForm[] {
  const shown = replacement.length === value.length ? replacement : '*'.repeat(value.length)
  const all: Written[] = [
    ['text', value, shown],
    ['text', value.replaceAll(' ', '+'), shown],
    ...base64Forms(value),
    ...hexadecimalForms(value),
    ['text', wide(value), wide(shown)],
  ]
  const forms = new Map(all.map((form) => [form[1], form]))
  return Array.from(forms.values(), ([kind, text, instead]) => ({
    owner,
    kind,
    bytes: Buffer.from(text, 'latin1'),
    replacement: Buffer.from(instead, 'latin1'),
  }))
}

/** The same for texts that lose their case on the way, such as names of headers. */
export function withoutCase(forms: readonly EncodedForm[]): EncodedForm[] {
  return forms.map((form) => ({ ...form, bytes: Buffer.from(form.bytes.toString('latin1').toLowerCase(), 'latin1') }))
}

function base64Forms(value: string): Written[] {
  return [0, 1, 2].flatMap((shift) => {
    const core = base64Core(Buffer.from(value, 'latin1'), shift)
    return [core, core.replaceAll('+', '-').replaceAll('/', '_')]
      .filter((text) => text.length >= SHORTEST_SECRET)
      .map((text): Written => ['packed', text, 'A'.repeat(text.length)])
  })
}

/** The characters of base64 that the value alone determines when it begins `shift` bytes into a group of three. */
function base64Core(value: Buffer, shift: number): string {
  const text = Buffer.concat([Buffer.alloc(shift), value])
    .toString('base64')
    .replace(/=+$/, '')
  const end = Math.floor(((shift + value.length) * 8) / 6)
  return text.slice(Math.ceil((shift * 8) / 6), end)
}

function hexadecimalForms(value: string): Written[] {
  const pairs = Array.from(Buffer.from(value, 'latin1'), (byte) => byte.toString(16).padStart(2, '0'))
  return ['', ':', ' ', '-'].flatMap((between) => {
    const [kind, instead] = [between === '' ? 'packed' : 'fixed', pairs.map(() => '00').join(between)] as const
    const text = pairs.join(between)
    return [text, text.toUpperCase()].map((one): Written => [kind, one, instead])
  })
}

/** UTF-16. From the first character to the last it is the same whichever end of each comes first. */
function wide(text: string): string {
  return Array.from(text, (one) => one).join('\0')
}
