import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Sandbox } from '@hearth/contract'
import type { Hearth } from '@hearth/engine'
import type { FloorHelper } from './floor-helper.ts'
import type { FloorRoot } from './floor-root.ts'
import { equalBundle, runscWords } from './oci.ts'

/** A container that runsc has started, written to a file and ended, with the options of a live sandbox. */
export class RunscCheckpoint implements Disposable {
  readonly #runsc: readonly string[]
  readonly #bundle: string
  readonly #image: string
  readonly #helper: FloorHelper
  #count = 0
  #alive: string | null = null

  constructor(hearth: Hearth, sandbox: Sandbox, root: FloorRoot, helper: FloorHelper) {
    this.#helper = helper
    this.#runsc = runscWords(hearth, sandbox, join(root.directory, 'runsc-restored'))
    this.#bundle = equalBundle(hearth, sandbox, root, ['/bin/sleep', '1000'])
    this.#image = join(root.directory, 'checkpoint')
    mkdirSync(this.#image)
    const name = this.#name()
    this.#run('run', '--detach', '--bundle', this.#bundle, name)
    this.#run('checkpoint', '--image-path', this.#image, name)
    this.#remove()
  }

  /** Until a command in the restored container has said something. */
  async restore(): Promise<number> {
    const name = this.#name()
    const runsc = this.#runsc.join(' ')
    // What goes on in the background must not hold the output that is waited for.
    const script = `${runsc} restore --detach --bundle ${this.#bundle} --image-path ${this.#image} ${name} >/dev/null 2>&1 &&
      exec ${runsc} exec ${name} /bin/echo ready`
    try {
      return await this.#helper.measure({ argv: ['/bin/sh', '-c', script], until: 'output' })
    } finally {
      this.#remove()
    }
  }

  #name(): string {
    this.#alive = `restored-${process.pid}-${this.#count++}`
    return this.#alive
  }

  #run(...words: readonly string[]): void {
    const [program = '', ...options] = this.#runsc
    execFileSync(program, [...options, ...words], { stdio: 'ignore' })
  }

  #remove(): void {
    if (this.#alive !== null) this.#run('delete', '--force', this.#alive)
    this.#alive = null
  }

  [Symbol.dispose](): void {
    this.#remove()
  }
}
