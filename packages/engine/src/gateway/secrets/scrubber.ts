import { encodedForms, withoutCase, type EncodedForm } from './encoded-forms.ts'
import { FormMatcher, type Match } from './form-matcher.ts'

/** Puts placeholders in the place of secrets, in whatever form they come. What it gives back is as long as what it got. */
export class Scrubber {
  readonly #secrets: readonly { readonly value: string; readonly placeholder: string }[]
  #made: FormMatcher | null = null
  #madeForNames: FormMatcher | null = null

  constructor(secrets: readonly { readonly value: string; readonly placeholder: string }[]) {
    this.#secrets = secrets
  }

  get empty(): boolean {
    return this.#secrets.length === 0
  }

  /** Of a whole text, such as the value of a header. */
  text(text: string): string {
    const bytes = Buffer.from(text, 'latin1')
    const scrubbed = this.bytes(bytes)
    return scrubbed === bytes ? text : scrubbed.toString('latin1')
  }

  /** Whether the name of a header holds a value: it cannot be replaced there. */
  isInName(name: string): boolean {
    this.#madeForNames ??= new FormMatcher(withoutCase(this.#forms()))
    return this.#madeForNames.matches(Buffer.from(name.toLowerCase(), 'latin1')).length > 0
  }

  bytes(bytes: Buffer): Buffer {
    const matches = this.#matcher.matches(bytes)
    if (matches.length === 0) return bytes
    const scrubbed = Buffer.from(bytes)
    for (const match of matches) blot(scrubbed, match)
    return scrubbed
  }

  /** Of a stream, however it is cut. Bytes that could be the beginning of a secret wait for what follows. */
  stream(): { write(chunk: Buffer): Buffer; end(): Buffer } {
    let held: Buffer = Buffer.alloc(0)
    return {
      write: (chunk) => {
        const scrubbed = this.bytes(held.length === 0 ? chunk : Buffer.concat([held, chunk]))
        const keep = this.#matcher.unfinished(scrubbed)
        held = Buffer.from(scrubbed.subarray(scrubbed.length - keep))
        return keep === 0 ? scrubbed : scrubbed.subarray(0, scrubbed.length - keep)
      },
      end: () => {
        const rest = held
        held = Buffer.alloc(0)
        return rest
      },
    }
  }

  /** Made when it is needed first: most sandboxes never need it. */
  get #matcher(): FormMatcher {
    this.#made ??= new FormMatcher(this.#forms())
    return this.#made
  }

  #forms(): EncodedForm[] {
    return this.#secrets.flatMap(({ value, placeholder }, owner) => encodedForms(value, placeholder, owner))
  }
}

function blot(bytes: Buffer, { form, start, end, pieces }: Match): void {
  if (pieces === null) {
    form.replacement.copy(bytes, start)
    return
  }
  for (const [index, from] of pieces.entries()) {
    blotPiece(bytes, from, pieces[index + 1] ?? end, form.replacement[index] ?? 0x2a, form.bytes[index] ?? 0)
  }
}

const PERCENT = 0x25
const BACKSLASH = 0x5c

/** Writes another character in the same notation, in the same room. */
function blotPiece(bytes: Buffer, from: number, to: number, instead: number, before: number): void {
  if (to - from === 1) bytes[from] = instead
  else if (bytes[from] === PERCENT || (bytes[from] === BACKSLASH && to - from > 2)) {
    bytes.write(instead.toString(16).padStart(2, '0'), to - 2, 'latin1')
  } else if (instead !== before) bytes.fill(0x78, from, to)
}
