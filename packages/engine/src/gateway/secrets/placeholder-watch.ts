import type { Filter } from '../http/pump.ts'
import { refuse } from '../http/refusal.ts'
import { encodedForms, withoutCase, type EncodedForm } from './encoded-forms.ts'
import { FormMatcher } from './form-matcher.ts'
import { SearchTime } from './search-time.ts'
import { StreamTail } from './stream-tail.ts'

const PART_BYTES = 64 * 1024

/** Finds placeholders where they have no business, in every notation that is known, and refuses what holds them. */
export class PlaceholderWatch {
  readonly #secrets: readonly { readonly name: string; readonly placeholder: string }[]
  readonly #time: SearchTime
  #made: FormMatcher | null = null
  #madeForNames: FormMatcher | null = null

  constructor(secrets: readonly { readonly name: string; readonly placeholder: string }[], time = new SearchTime()) {
    this.#secrets = secrets
    this.#time = time
  }

  check(text: string | Buffer, where: string): void {
    if (this.#secrets.length > 0) this.#check(typeof text === 'string' ? Buffer.from(text, 'latin1') : text, where)
  }

  /** The same of much, bit by bit. */
  async checkLong(bytes: Buffer, where: string): Promise<void> {
    if (this.#secrets.length === 0) return
    const search = this.stream(where)
    for (let at = 0; at < bytes.length; at += PART_BYTES) {
      // oxlint-disable-next-line no-await-in-loop -- all others have their turn between
      await this.#time.turn()
      search.write(bytes.subarray(at, at + PART_BYTES))
    }
  }

  /** Of the name of a header, which may have lost its case. */
  checkName(name: string): void {
    if (this.#secrets.length === 0) return
    this.#madeForNames ??= new FormMatcher(withoutCase(this.#forms()))
    this.#refuse(this.#madeForNames, Buffer.from(name.toLowerCase(), 'latin1'), 'the name of a header')
  }

  /** Of a stream, however it is cut. It throws before more of a placeholder is passed on than its first few characters. */
  stream(where: string): Filter {
    const tail = new StreamTail()
    return {
      write: (chunk) => {
        const bytes = tail.before(chunk)
        this.#check(bytes, where)
        return this.#time.during(bytes.length, () => tail.passes(bytes, this.#matcher.unfinished(bytes)))
      },
      end: () => tail.rest(),
    }
  }

  #check(bytes: Buffer, where: string): void {
    this.#refuse(this.#matcher, bytes, where)
  }

  #refuse(matcher: FormMatcher, bytes: Buffer, where: string): void {
    const [match] = this.#time.during(bytes.length, () => matcher.matches(bytes))
    if (match === undefined) return
    const name = this.#secrets[match.form.owner]?.name ?? ''
    throw refuse(
      'placeholder_misplaced',
      `the placeholder of the secret ${name} is in ${where}, which is not the place that the secret is bound to`,
    )
  }

  get #matcher(): FormMatcher {
    this.#made ??= new FormMatcher(this.#forms())
    return this.#made
  }

  #forms(): EncodedForm[] {
    return this.#secrets.flatMap(({ placeholder }, owner) => encodedForms(placeholder, placeholder, owner))
  }
}
