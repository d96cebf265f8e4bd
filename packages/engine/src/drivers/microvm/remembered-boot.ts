import { createHash, randomBytes } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'

const schema = z.strictObject({ key: z.string(), accelerator: z.enum(['kvm', 'tcg']) })
const FILE = 'microvm-boot.json'

/** Which boot worked here before, so that it is not tried again for the same parts. Only successes are remembered. */
export class RememberedBoot {
  readonly #cache: string
  readonly #key: string

  constructor(cache: string, parts: readonly string[]) {
    this.#cache = cache
    this.#key = createHash('sha256').update(JSON.stringify(parts)).digest('hex')
  }

  async read(): Promise<'kvm' | 'tcg' | null> {
    const text = await readFile(join(this.#cache, FILE), 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null
      throw error
    })
    const remembered = text === null ? null : schema.safeParse(JSON.parse(text))
    return remembered?.success === true && remembered.data.key === this.#key ? remembered.data.accelerator : null
  }

  async write(accelerator: 'kvm' | 'tcg'): Promise<void> {
    const path = join(this.#cache, FILE)
    const draft = `${path}.${randomBytes(6).toString('hex')}.tmp`
    await mkdir(this.#cache, { recursive: true })
    await writeFile(draft, JSON.stringify({ key: this.#key, accelerator }))
    await rename(draft, path)
  }
}
