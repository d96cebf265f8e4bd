import type { Sandbox } from '@hearth/contract'

/** More than a host can run: those of other hosts, whose end is not told here, go with time. */
const MOST_SANDBOXES = 10_000

/** What is remembered of each sandbox as long as it is there, however often it sleeps: its machine is another after each wake. */
export class PerSandbox<T> {
  readonly #known = new Map<string, T>()
  readonly #make: () => T

  constructor(make: () => T) {
    this.#make = make
  }

  /** Made when it is first asked for. */
  of({ id }: Pick<Sandbox, 'id'>): T {
    const known = this.#known.get(id) ?? this.#make()
    this.#known.delete(id)
    this.#known.set(id, known)
    const [oldest] = this.#known.keys()
    if (this.#known.size > MOST_SANDBOXES && oldest !== undefined) this.#known.delete(oldest)
    return known
  }

  /** What is known already. */
  get(id: string): T | null {
    return this.#known.get(id) ?? null
  }

  forget(id: string): void {
    this.#known.delete(id)
  }
}
