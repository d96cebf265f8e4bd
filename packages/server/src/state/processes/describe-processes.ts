import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openStore, type Store } from '../index.ts'

export interface ProcessSuiteOptions {
  readonly open: () => Promise<AsyncDisposable & { readonly url: string }>
  /** Looks at the database from outside after a writer was killed. */
  readonly verify?: (url: string) => Promise<void>
}

/** What only several processes can show: that nothing is claimed twice, and that a killed one takes nothing committed with it. */
export function describeProcesses(options: ProcessSuiteOptions): void {
  describe('processes', () => {
    it('gives every operation to one of two processes', { timeout: 60_000 }, async () => {
      await using database = await options.open()
      await using store = await openStore({ url: database.url })
      const { id: tenantId } = await store.tenants.create({ name: 'claims' })
      await store.transaction(async ({ operations }) => {
        for (let index = 0; index < 200; index++) await operations.begin({ tenantId, kind: 'create' })
      })
      const workers = [new Worker('claim', database.url, 'one'), new Worker('claim', database.url, 'two')]
      await Promise.all(workers.map((worker) => worker.ended))
      const claimed = workers.flatMap(({ lines }) => lines)
      expect(claimed).toHaveLength(200)
      expect(new Set(claimed).size).toBe(200)
      for (const id of claimed) expect(await store.operations.get(id)).toMatchObject({ state: 'done', attempts: 1 })
    })

    it('keeps all that was committed when writers are killed, and nothing by halves', { timeout: 60_000 }, async () => {
      await using database = await options.open()
      const first = await openStore({ url: database.url })
      await first.tenants.create({ name: 'crash' })
      await first.close()
      const committed: string[] = []
      for (let round = 0; round < 3; round++) {
        const writers = [new Worker('write', database.url, `a${round}`), new Worker('write', database.url, `b${round}`)]
        await Promise.all(writers.map((writer) => writer.hasWritten(10 + round * 17)))
        for (const writer of writers) writer.kill()
        await Promise.all(writers.map((writer) => writer.ended))
        committed.push(...writers.flatMap(({ lines }) => lines))
        await using store = await openStore({ url: database.url })
        const found = await expectWhole(store)
        expect(committed.filter((id) => !found.has(id))).toEqual([])
        await options.verify?.(database.url)
      }
    })
  })
}

/** Every sandbox has what was written with it. All that are there. */
async function expectWhole(store: Store): Promise<Set<string>> {
  const found = new Set<string>()
  for await (const record of store.sandboxes.scan()) {
    found.add(record.id)
    expect(await store.operations.unfinished(record.id)).toHaveLength(1)
    expect((await store.events.page({ sandboxId: record.id })).events).toHaveLength(1)
    expect(record.metadata).toEqual({ writer: record.driver })
  }
  // Sequence numbers have no gaps: no transaction left one behind.
  expect(await store.events.head()).toBe(found.size)
  return found
}

class Worker {
  readonly ended: Promise<unknown>
  readonly #child: ChildProcess
  #output = ''

  constructor(mode: 'write' | 'claim', url: string, name: string) {
    const script = join(import.meta.dirname, 'worker.ts')
    this.#child = spawn(process.execPath, [script, mode, url, name], { stdio: ['ignore', 'pipe', 'inherit'] })
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#output += text
    })
    this.ended = once(this.#child, 'close')
  }

  /** Whole lines only: a line that was cut belongs to a commit all the same, but its identifier is not known. */
  get lines(): string[] {
    return this.#output.split('\n').slice(0, -1)
  }

  async hasWritten(count: number): Promise<void> {
    while (this.lines.length < count) {
      if (this.#child.exitCode !== null) throw new Error(`the worker ended with ${this.#child.exitCode}`)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }
}
