import { HearthError } from '../hearth-error.ts'

/** No event of the API comes near this; more is not a Hearth server. */
const LARGEST_EVENT_CHARACTERS = 16 * 1024 * 1024
const LINE_END = /\r\n|\n|\r/g

/** Server-sent events: text in pieces goes in, the `data` of whole events comes out. Names and ids of events are not used. */
export class SseParser {
  readonly #decoder = new TextDecoder()
  #rest = ''
  /** Where to look on for the end of a line in `#rest`. */
  #searched = 0
  #data: string[] = []
  #dataCharacters = 0

  push(bytes: Uint8Array): string[] {
    this.#rest += this.#decoder.decode(bytes, { stream: true })
    const events: string[] = []
    let begin = 0
    LINE_END.lastIndex = this.#searched
    for (let match = LINE_END.exec(this.#rest); match !== null; match = LINE_END.exec(this.#rest)) {
      // A carriage return at the end may be half of a line end.
      if (match[0] === '\r' && LINE_END.lastIndex === this.#rest.length) break
      this.#line(this.#rest.slice(begin, match.index), events)
      begin = LINE_END.lastIndex
    }
    this.#rest = begin === 0 ? this.#rest : this.#rest.slice(begin)
    this.#searched = Math.max(0, this.#rest.length - 1)
    this.#bound(this.#rest.length + this.#dataCharacters)
    return events
  }

  #line(line: string, events: string[]): void {
    if (line === '') {
      // An event without data is none.
      if (this.#data.length > 0) events.push(this.#data.length === 1 ? (this.#data[0] ?? '') : this.#data.join('\n'))
      this.#data = []
      this.#dataCharacters = 0
      return
    }
    if (!line.startsWith('data')) return
    if (line.length > 4 && line[4] !== ':') return
    const value = line.slice(line[5] === ' ' ? 6 : 5)
    this.#data.push(value)
    this.#dataCharacters += value.length + 1
    this.#bound(this.#dataCharacters)
  }

  #bound(characters: number): void {
    if (characters > LARGEST_EVENT_CHARACTERS) {
      throw new HearthError('protocol_violation', `an event has more than ${LARGEST_EVENT_CHARACTERS} characters`)
    }
  }
}
