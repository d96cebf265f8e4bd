/** What is found out once. A failure is not remembered: who asks next tries again. */
export class Remembered<Value> {
  readonly #find: () => Promise<Value>
  #found: Promise<Value> | null = null

  constructor(find: () => Promise<Value>) {
    this.#find = find
  }

  get(): Promise<Value> {
    return this.#found ?? this.renew()
  }

  /** Finds out again. Who asked before gets what was found for them. */
  renew(find = this.#find): Promise<Value> {
    const found = find()
    this.#found = found
    found.catch(() => this.#forget(found))
    return found
  }

  /** Null when it was not asked for, could not be found out, or was forgotten. Finds out nothing. */
  async known(): Promise<Value | null> {
    return (await this.#found?.catch(() => null)) ?? null
  }

  forget(): void {
    this.#found = null
  }

  #forget(found: Promise<Value>): void {
    if (this.#found === found) this.#found = null
  }
}

/** The same for several things. Beyond `most` of them those that were found out first go. */
export class RememberedByKey<Value> {
  readonly #found = new Map<string, Promise<Value>>()
  readonly #most: number

  constructor(most = Infinity) {
    this.#most = most
  }

  get(key: string, find: () => Promise<Value>): Promise<Value> {
    return this.#found.get(key) ?? this.renew(key, find)
  }

  renew(key: string, find: () => Promise<Value>): Promise<Value> {
    const found = find()
    this.#found.set(key, found)
    found.catch(() => {
      if (this.#found.get(key) === found) this.#found.delete(key)
    })
    const [oldest] = this.#found.keys()
    if (this.#found.size > this.#most && oldest !== undefined) this.#found.delete(oldest)
    return found
  }
}
