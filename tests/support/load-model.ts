/** What the clients of the killed servers know. */
export class LoadModel {
  /** Sandboxes that somebody was given, with the text that was written into them. */
  readonly given = new Map<string, string | null>()
  readonly snapshots = new Set<string>()
  /** The last merge into a sandbox: both files have this text, or both have the text before when it was not answered. */
  readonly merged = new Map<
    string,
    { readonly text: string; readonly answered: boolean; readonly before: string | null }
  >()
  /** Sandboxes with a deadline that comes soon. */
  readonly short = new Set<string>()
  /** Not answered, by key: what was asked, and of which sandbox. */
  readonly pending = new Map<string, { readonly kind: string; readonly of: string }>()
  /** Deletes of sandboxes and snapshots that were not answered. */
  readonly deleting = new Set<string>()
  problem: string | null = null

  hear(line: string): void {
    const [phase, kind = '', name = '', of = '', answer = ''] = line.split(' ')
    if (phase === 'failed') this.problem = line
    else if (kind === 'mark') this.given.set(of, name)
    else if (kind === 'delete' || kind === 'drop') this.#hearRemoval(phase === 'end', name)
    else if (kind === 'write') this.merged.delete(name)
    else if (kind === 'merge') this.#hearMerge(phase === 'end', name, of, answer)
    else if (phase === 'begin') this.pending.set(name, { kind, of })
    else this.#hearAnswer(kind, name, of, answer)
  }

  #hearRemoval(done: boolean, id: string): void {
    if (!done) return void this.deleting.add(id)
    this.forget(id)
  }

  #hearMerge(done: boolean, text: string, id: string, answer: string): void {
    const last = this.merged.get(id)
    if (!done) this.merged.set(id, { text, answered: false, before: last?.text ?? null })
    else if (answer === 'whole') this.merged.set(id, { text, answered: true, before: null })
  }

  #hearAnswer(kind: string, key: string, of: string, answer: string): void {
    this.pending.delete(key)
    if (kind === 'create') this.given.set(of, null)
    else if (kind === 'short') this.short.add(of)
    else if (kind === 'snapshot') this.snapshots.add(answer)
    else if (kind === 'fork') this.forked(of, answer)
  }

  /** A child has what its parent had. */
  forked(parent: string, child: string): void {
    this.given.set(child, this.given.get(parent) ?? null)
    const merged = this.merged.get(parent)
    if (merged !== undefined) this.merged.set(child, merged)
  }

  forget(id: string): void {
    this.deleting.delete(id)
    this.given.delete(id)
    this.snapshots.delete(id)
    this.merged.delete(id)
  }
}
