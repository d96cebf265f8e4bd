const RETURN = 0x0d
const NEWLINE = 0x0a
const TILDE = 0x7e
const DOT = 0x2e

/** Finds `~.` at the beginning of a line in what is typed, as ssh(1) has it; `~~` there is one `~`. */
export class EscapeKeys {
  #lineBegins = true
  #tilde = false

  /** What is for the program; `leave` when the keys were typed, and then nothing of what follows them. */
  push(typed: Uint8Array): { readonly pass: Uint8Array; readonly leave: boolean } {
    const pass: number[] = []
    for (const key of typed) {
      if (this.#tilde && key === DOT) return { pass: Uint8Array.from(pass), leave: true }
      if (this.#tilde && key !== TILDE) pass.push(TILDE)
      const begins = !this.#tilde && this.#lineBegins && key === TILDE
      if (!begins) pass.push(key)
      this.#tilde = begins
      this.#lineBegins = key === RETURN || key === NEWLINE
    }
    return { pass: Uint8Array.from(pass), leave: false }
  }
}
