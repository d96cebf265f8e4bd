import { createHash, randomBytes } from 'node:crypto'
import { mkdir, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { HearthError } from '@hearth/contract'
import { z } from 'zod'

/** What is remembered of a template that was built. The file is ours, but it may be from another version or damaged. */
const recordSchema = z.strictObject({
  name: z.string(),
  identity: z.string(),
  digest: z.string().regex(/^sha256:[0-9a-f]{64}$/),
  environment: z.record(z.string(), z.string()),
  workdir: z.string().nullable(),
  user: z.string().nullable(),
  builtAt: z.iso.datetime(),
})
export type TemplateRecord = z.output<typeof recordSchema>

/** Names, each pointing to a root by its digest. */
export class TemplateRecords {
  readonly #directory: string

  constructor(directory: string) {
    this.#directory = directory
  }

  async read(name: string): Promise<TemplateRecord | null> {
    const text = await readFile(this.#path(name), 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null
      throw error
    })
    return text === null ? null : parseRecord(text)
  }

  async write(record: TemplateRecord): Promise<void> {
    await mkdir(this.#directory, { recursive: true })
    const draft = `${this.#path(record.name)}.${randomBytes(6).toString('hex')}.tmp`
    await writeFile(draft, JSON.stringify(record, undefined, 2))
    await rename(draft, this.#path(record.name))
  }

  /** True when there was one. */
  async remove(name: string): Promise<boolean> {
    const existed = (await this.read(name)) !== null
    await rm(this.#path(name), { force: true })
    return existed
  }

  async list(): Promise<TemplateRecord[]> {
    const names = await readdir(this.#directory).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return []
      throw error
    })
    const files = names.filter((name) => name.endsWith('.json')).map((name) => join(this.#directory, name))
    const records = await Promise.all(files.map(async (file) => parseRecord(await readFile(file, 'utf8'))))
    return records.filter((record) => record !== null).toSorted((a, b) => (a.name < b.name ? -1 : 1))
  }

  #path(name: string): string {
    return join(this.#directory, `${fileNameOf(name)}.json`)
  }
}

/** A damaged record is as good as none: the template is built again. */
function parseRecord(text: string): TemplateRecord | null {
  try {
    return recordSchema.parse(JSON.parse(text))
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof z.ZodError) return null
    throw error
  }
}

/** A file name for any template name: readable at the front, unique at the end. */
export function fileNameOf(name: string): string {
  const readable = name.replaceAll(/[^A-Za-z0-9-]+/g, '_').slice(0, 60)
  return `${readable}-${createHash('sha256').update(name).digest('hex').slice(0, 16)}`
}

/** The directory name of a root. */
export function rootNameOf(digest: string): string {
  if (!/^sha256:[0-9a-f]{64}$/.test(digest)) throw new HearthError('internal', `not a digest: ${digest}`)
  return digest.replace(':', '-')
}
