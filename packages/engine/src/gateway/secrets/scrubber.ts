import { encodedForms, withoutCase, type EncodedForm } from './encoded-forms.ts'
import { FormMatcher, type Match } from './form-matcher.ts'
import { SearchTime } from './search-time.ts'
import { StreamTail } from './stream-tail.ts'

/** Puts placeholders in the place of secrets, in whatever form they come. What it gives back is as long as what it got. */
export class Scrubber {
  readonly #secrets: readonly { readonly value: string; readonly placeholder: string }[]
  readonly #time: SearchTime
  #made: FormMatcher | null = null
  #madeForNames: FormMatcher | null = null

  constructor(secrets: readonly { readonly value: string; readonly placeholder: string }[], time = new SearchTime()) {
    this.#secrets = secrets
    this.#time = time
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
    return this.#time.during(bytes.length, () => this.#scrubbed(bytes))
  }

  #scrubbed(bytes: Buffer): Buffer {
    const matches = this.#matcher.matches(bytes)
    if (matches.length === 0) return bytes
    const scrubbed = Buffer.from(bytes)
    for (const match of matches) blot(scrubbed, match)
    return scrubbed
  }

  /** Of a stream, however it is cut. Bytes that could be the beginning of a secret wait for what follows, but for the first few characters. */
  stream(): { write(chunk: Buffer): Buffer; end(): Buffer } {
    const tail = new StreamTail()
    return {
      write: (chunk) => {
        const bytes = tail.before(chunk)
        return this.#time.during(bytes.length, () => {
          const scrubbed = this.#scrubbed(bytes)
          return tail.passes(scrubbed, this.#matcher.unfinished(scrubbed))
        })
      },
      end: () => tail.rest(),
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

function blot(bytes: Buffer, { form, start, pieces }: Match): void {
  if (pieces === null) {
    form.replacement.copy(bytes, start)
    return
  }
  for (let index = 0; index < form.bytes.length; index++) {
    const [from = 0, to = 0] = [pieces[2 * index], pieces[2 * index + 1]]
    const [instead = 0x2a, before] = [form.replacement[index], form.bytes[index]]
    if (to - from === 1) bytes[from] = instead
    else if (instead !== before) blotEscape(bytes, from, to, instead)
  }
}

/** Writes another character in the same notation, in the same room; or nothing that could be read, where that is not so simple. */
function blotEscape(bytes: Buffer, from: number, to: number, instead: number): void {
  const simple = /^(%(25)*|=|\\+(u00|x))[0-9a-f]{2}$/i.test(bytes.toString('latin1', from, to))
  if (simple) bytes.write(instead.toString(16).padStart(2, '0'), to - 2, 'latin1')
  else bytes.fill(0x78, from, to)
}
