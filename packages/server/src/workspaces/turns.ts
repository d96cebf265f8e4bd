/** One at a time for each name; those who come later wait for those before them. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>()

  async of<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(name) ?? Promise.resolve()
    const own = before.then(work, work)
    this.#last.set(name, own)
    try {
      return await own
    } finally {
      if (this.#last.get(name) === own) this.#last.delete(name)
    }
  }
}
