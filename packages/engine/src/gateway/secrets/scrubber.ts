import { encodedForms, type EncodedForms } from './encoded-forms.ts'

interface Entry {
  readonly forms: EncodedForms
  readonly placeholder: Buffer
}

const ESCAPES = [0x25, 0x5c, 0x26] as const

/** Puts placeholders in the place of secrets, in whatever form they come. */
export class Scrubber {
  readonly #entries: readonly Entry[]
  /** No form of any secret is longer. */
  readonly #longest: number

  constructor(secrets: readonly { readonly value: string; readonly placeholder: string }[]) {
    this.#entries = secrets.map(({ value, placeholder }) => ({
      forms: encodedForms(value),
      placeholder: Buffer.from(placeholder, 'utf8'),
    }))
    this.#longest = Math.max(0, ...this.#entries.map(({ forms }) => forms.longest))
  }

  get empty(): boolean {
    return this.#entries.length === 0
  }

  /** Of a whole text, such as the value of a header. */
  text(text: string): string {
    const bytes = Buffer.from(text, 'latin1')
    const scrubbed = this.#scrub(bytes)
    return scrubbed === bytes ? text : scrubbed.toString('latin1')
  }

  /** Of a stream, however it is cut. Bytes that could be the beginning of a secret wait for what follows. */
  stream(): { write(chunk: Buffer): Buffer; end(): Buffer } {
    let held: Buffer = Buffer.alloc(0)
    return {
      write: (chunk) => {
        const scrubbed = this.#scrub(held.length === 0 ? chunk : Buffer.concat([held, chunk]))
        const keep = this.#unfinished(scrubbed)
        held = Buffer.from(scrubbed.subarray(scrubbed.length - keep))
        return scrubbed.subarray(0, scrubbed.length - keep)
      },
      end: () => {
        const rest = held
        held = Buffer.alloc(0)
        return rest
      },
    }
  }

  #scrub(bytes: Buffer): Buffer {
    let result = bytes
    const escapes = ESCAPES.some((byte) => bytes.includes(byte))
    for (const { forms, placeholder } of this.#entries) {
      result = replaceAll(result, forms.plain, placeholder)
      for (const core of forms.base64) result = replaceAll(result, core, Buffer.alloc(core.length, 'A'))
      if (escapes) result = replaceEscaped(result, forms.escaped, placeholder)
    }
    return result
  }

  /** How many bytes at the end could begin a secret. */
  #unfinished(bytes: Buffer): number {
    let most = 0
    const from = Math.max(0, bytes.length - this.#longest)
    const tail = bytes.subarray(from)
    const escapeAt = Math.min(...ESCAPES.map((byte) => indexOrEnd(tail, byte)))
    for (const { forms } of this.#entries) {
      for (const form of [forms.plain, ...forms.base64]) most = Math.max(most, overlap(bytes, form))
      // Anything escaped may be a part of it: what comes from the length of one plain value before the first escape waits.
      if (escapeAt < tail.length)
        most = Math.max(most, Math.min(tail.length, tail.length - escapeAt + forms.plain.length))
    }
    return most
  }
}

function indexOrEnd(bytes: Buffer, byte: number): number {
  const at = bytes.indexOf(byte)
  return at < 0 ? bytes.length : at
}

/** The longest end of `bytes` that is a beginning of `form`. */
function overlap(bytes: Buffer, form: Buffer): number {
  for (let length = Math.min(form.length - 1, bytes.length); length > 0; length--) {
    if (bytes.subarray(bytes.length - length).equals(form.subarray(0, length))) return length
  }
  return 0
}

function replaceAll(bytes: Buffer, wanted: Buffer, replacement: Buffer): Buffer {
  let at = bytes.indexOf(wanted)
  if (at < 0) return bytes
  const parts: Buffer[] = []
  let from = 0
  for (; at >= 0; at = bytes.indexOf(wanted, from)) {
    parts.push(bytes.subarray(from, at), replacement)
    from = at + wanted.length
  }
  return Buffer.concat([...parts, bytes.subarray(from)])
}

function replaceEscaped(bytes: Buffer, pattern: RegExp, replacement: Buffer): Buffer {
  const text = bytes.toString('latin1')
  const replaced = text.replaceAll(pattern, () => replacement.toString('latin1'))
  return replaced === text ? bytes : Buffer.from(replaced, 'latin1')
}
