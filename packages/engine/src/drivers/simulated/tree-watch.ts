import type { WatchEvent } from '@hearth/contract'
import type { MemoryTree } from './memory-tree.ts'
import { SIMULATED_BOUNDS } from './simulated-limits.ts'
import { TreeError, type TreeChange } from './tree-node.ts'

/** Changes at and below a path, in order. A reader that is too slow is told `overflow` in place of what it missed. */
export class TreeWatch implements AsyncIterable<WatchEvent>, AsyncDisposable {
  readonly #path: string
  readonly #recursive: boolean
  readonly #queue: WatchEvent[] = []
  readonly #stop: () => void
  #wake: (() => void) | null = null
  #closed = false

  constructor(tree: MemoryTree, path: string, recursive: boolean) {
    const place = tree.locate(path, 'watch')
    if (place.node === undefined) throw new TreeError('ENOENT', 'watch', path)
    this.#path = place.path
    this.#recursive = recursive
    this.#stop = tree.onChange((change) => this.#add(change))
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<WatchEvent, void> {
    for (;;) {
      const event = this.#queue.shift()
      if (event !== undefined) {
        yield event
        continue
      }
      if (this.#closed) return
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  close(): void {
    this.#closed = true
    this.#stop()
    this.#wake?.()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close()
  }

  #add(change: TreeChange): void {
    const event = this.#asSeen(change)
    if (event === null) return
    const last = this.#queue.at(-1)
    // A write to a new file is told once, as the kernel merges equal events.
    if (last?.kind === event.kind && last.path === event.path && event.from === null) return
    if (this.#queue.length < SIMULATED_BOUNDS.watchQueue) this.#queue.push(event)
    else if (last?.kind !== 'overflow') this.#queue.push({ kind: 'overflow', path: this.#path, from: null })
    this.#wake?.()
  }

  /** A rename into or out of what is watched is seen as a new or as a removed file. */
  #asSeen(change: TreeChange): WatchEvent | null {
    const isTarget = this.#covers(change.path)
    if (change.kind !== 'renamed' || change.from === null) return isTarget ? change : null
    const isSource = this.#covers(change.from)
    if (isSource && isTarget) return change
    if (isTarget) return { kind: 'created', path: change.path, from: null }
    return isSource ? { kind: 'removed', path: change.from, from: null } : null
  }

  #covers(path: string): boolean {
    if (path === this.#path) return true
    const prefix = this.#path === '/' ? '/' : `${this.#path}/`
    return path.startsWith(prefix) && (this.#recursive || !path.slice(prefix.length).includes('/'))
  }
}
