import { spawn, type ChildProcess } from 'node:child_process'
import { storeError } from '../../store/store-helper.ts'

const WORDS = ['ready', 'copied', 'written'] as const
type Word = (typeof WORDS)[number]

/** The whole of it: also writing the pages of a large machine to a slow disk. */
const PATIENCE_MS = 120_000

/**
 * `hearth-guest memory`, which makes a file of a machine's memory; see guest/protocol.md. A process of its own: reading the pages of a hostile
 * process may take for ever, and then it is killed.
 */
export class MemoryCopy implements AsyncDisposable {
  readonly #child: ChildProcess
  readonly #said = new Map<Word, PromiseWithResolvers<number>>(
    WORDS.map((word) => [word, Promise.withResolvers<number>()]),
  )
  readonly #ended: Promise<void>
  #text = ''
  #errors = ''

  constructor(
    guest: string,
    machine: { readonly keeper: number; readonly descriptor: number; readonly bytes: number; readonly disk: string },
    target: string,
  ) {
    const { keeper, descriptor, bytes, disk } = machine
    this.#child = spawn(guest, ['memory', String(keeper), String(descriptor), String(bytes), target, disk], {
      env: {},
      cwd: '/',
      stdio: ['pipe', 'pipe', 'pipe'],
      timeout: PATIENCE_MS,
      killSignal: 'SIGKILL',
    })
    for (const { promise } of this.#said.values()) promise.catch(() => undefined)
    this.#child.stdout?.setEncoding('utf8').on('data', (chunk: string) => this.#heard(chunk))
    this.#child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
      this.#errors = (this.#errors + chunk).slice(0, 2000)
    })
    // One that ended before it was told anything says why in its own words.
    this.#child.stdin?.on('error', () => undefined)
    this.#ended = new Promise<void>((resolve) => {
      this.#child.once('error', (error) => {
        this.#errors ||= error.message
        resolve()
      })
      this.#child.once('close', () => resolve())
    }).then(() => this.#over())
  }

  /** Everything that can be done while the machine runs is done. Its own bytes so far. */
  ready(): Promise<number> {
    return this.#wait('ready')
  }

  /** To be called when the machine stands still; it may go on when this resolves. */
  async copy(): Promise<number> {
    this.#child.stdin?.end('.')
    return await this.#wait('copied')
  }

  /** The file is whole. */
  written(): Promise<number> {
    return this.#wait('written')
  }

  #wait(word: Word): Promise<number> {
    return this.#said.get(word)?.promise ?? Promise.reject(new Error(word))
  }

  #heard(chunk: string): void {
    this.#text += chunk
    for (const match of this.#text.matchAll(/^(ready|copied|written) (\d+)\n/gm)) {
      this.#said.get(match[1] as Word)?.resolve(Number(match[2]))
    }
  }

  #over(): void {
    const said = this.#errors.trim() === '' ? 'it was given up' : this.#errors.trim()
    const [, errno = '', reason = said] = /^(\d+) (.*)$/s.exec(said) ?? []
    const error = storeError(Number(errno), `the memory of the machine could not be copied: ${reason}`)
    for (const { reject } of this.#said.values()) reject(error)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin?.destroy()
    this.#child.kill('SIGKILL')
    await this.#ended
  }
}
