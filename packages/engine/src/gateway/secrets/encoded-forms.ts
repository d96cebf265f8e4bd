import { SHORTEST_SECRET } from '@hearth/contract'

/** One way in which a value can be written in a message. Any of its characters may be escaped besides, as in URLs, JSON or HTML. */
export interface EncodedForm {
  /** Which of the values it is. */
  readonly owner: number
  readonly bytes: Buffer
  /** What stands in its place when it is taken out: as long as it is, so that nothing else moves. */
  readonly replacement: Buffer
}

/** As it is, with `+` for spaces, in base64 at each of the three places where it can begin there, in hexadecimal, and in UTF-16. */
export function encodedForms(value: string, replacement: string, owner: number): EncodedForm[] {
  const plain = Buffer.from(value, 'latin1')
  const shown = replacement.length === value.length ? replacement : '*'.repeat(value.length)
  const forms = new Map<string, string>([[value, shown]])
  if (value.includes(' ')) forms.set(value.replaceAll(' ', '+'), shown)
  for (const shift of [0, 1, 2]) {
    const core = base64Core(plain, shift)
    for (const text of [core, core.replaceAll('+', '-').replaceAll('/', '_')]) {
      if (text.length >= SHORTEST_SECRET) forms.set(text, 'A'.repeat(text.length))
    }
  }
  const hex = plain.toString('hex')
  for (const text of [hex, hex.toUpperCase()]) forms.set(text, '0'.repeat(hex.length))
  const wide = Buffer.from(value, 'utf16le').toString('latin1')
  forms.set(wide, Buffer.from(shown, 'utf16le').toString('latin1'))
  return Array.from(forms, ([text, instead]) => ({
    owner,
    bytes: Buffer.from(text, 'latin1'),
    replacement: Buffer.from(instead, 'latin1'),
  }))
}

/** The same for texts that lose their case on the way, such as names of headers. */
export function withoutCase(forms: readonly EncodedForm[]): EncodedForm[] {
  return forms.map((form) => ({ ...form, bytes: Buffer.from(form.bytes.toString('latin1').toLowerCase(), 'latin1') }))
}

/** The characters of base64 that the value alone determines when it begins `shift` bytes into a group of three. */
function base64Core(value: Buffer, shift: number): string {
  const text = Buffer.concat([Buffer.alloc(shift), value])
    .toString('base64')
    .replace(/=+$/, '')
  const end = Math.floor(((shift + value.length) * 8) / 6)
  return text.slice(Math.ceil((shift * 8) / 6), end)
}
