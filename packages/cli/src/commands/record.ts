import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import {
  ChainReader,
  eventViewSchema,
  headIsSigned,
  parseInput,
  recordBeginningSchema,
  recordEndSchema,
  type RecordDrops,
  type RecordHead,
} from '@hearth/contract'
import { HearthError, type Hearth, type RecordVerdict } from '@hearth/sdk'
import { onLocal } from '../copy/local-failure.ts'
import { writeJson, write } from '../output/write.ts'
import { findSandbox } from '../server/find-sandbox.ts'
import { withServer, type ServerOptions } from '../server/with-server.ts'

const PAGE = 1000

export interface VerifyOptions extends ServerOptions {
  readonly file?: string
  readonly publicKey?: string
}

/** Whether a record is what was written: of a sandbox, by the server; of a file, here and without a server. Ends with 1 when it is not, or nothing proves some of it. */
export async function verify(name: string | undefined, options: VerifyOptions): Promise<number> {
  if ((name === undefined) === (options.file === undefined)) {
    throw new HearthError('invalid_request', 'name either a sandbox or a file')
  }
  const verdict =
    options.file === undefined
      ? await withServer(options, async (hearth) => await hearth.verifyRecord(await idOf(hearth, name ?? '')))
      : await verifyFile(options.file, options.publicKey)
  if (options.json === true) await writeJson(verdict)
  else if (options.quiet !== true) await write(process.stdout, people(verdict))
  return verdict.valid && verdict.unproven === 0 ? 0 : 1
}

/** All that is kept of the timeline of a sandbox, as lines of JSON that can be verified without the server. */
export async function exportRecord(name: string, path: string, options: ServerOptions): Promise<number> {
  await withServer(options, async (hearth) => {
    const id = await idOf(hearth, name)
    await onLocal(path, async () => {
      await using file = await open(path, 'w', 0o600)
      for await (const line of exportedLines(hearth, id)) await file.appendFile(`${JSON.stringify(line)}\n`)
    })
    const { valid, problem } = await verifyFile(path)
    // Retention may take entries while they are read.
    if (!valid) throw new HearthError('conflict', `what was exported is not whole: ${problem ?? ''}`)
  })
  return 0
}

async function* exportedLines(hearth: Hearth, sandbox: string): AsyncGenerator<object> {
  const { dropped, head } = await hearth.verifyRecord(sandbox)
  yield { type: 'record', sandbox, dropped }
  for (let after = 0; after < head.seq;) {
    const { items, next } = await hearth.eventPage({ sandbox, after, limit: PAGE })
    yield* items.filter(({ seq }) => seq <= head.seq)
    if (items.length < PAGE) break
    after = next
  }
  yield { type: 'head', ...head }
}

async function verifyFile(path: string, publicKey?: string): Promise<RecordVerdict> {
  return await onLocal(path, async () => {
    let reader: ChainReader | null = null
    let dropped: RecordDrops | null = null
    let head: RecordHead | null = null
    for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Infinity })) {
      if (head !== null) throw damaged(path, 'there is something after its head')
      const value = parsed(line, path)
      if (reader === null) {
        const beginning = parseInput(recordBeginningSchema, value, path)
        dropped = beginning.dropped
        reader = new ChainReader(beginning.sandbox, dropped?.hash ?? null)
      } else if (isHead(value)) {
        head = parseInput(recordEndSchema, value, path)
      } else {
        reader.add(parseInput(eventViewSchema, value, path))
      }
    }
    if (reader === null || head === null) throw damaged(path, 'its end is missing')
    const problem = reader.finish(head, dropped?.count ?? 0) ?? signatureProblem(head, publicKey)
    const { entries, unchained: unproven } = reader
    return { valid: problem === null, problem, entries, unproven, dropped, head }
  })
}

function isHead(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'type' in value && value.type === 'head'
}

function signatureProblem(head: RecordHead, publicKey: string | undefined): string | null {
  if (head.publicKey === null && publicKey === undefined) return null
  return headIsSigned(head, publicKey ?? head.publicKey ?? '') ? null : 'the head is not signed with that key'
}

function parsed(line: string, path: string): unknown {
  try {
    return JSON.parse(line)
  } catch (error) {
    throw damaged(path, 'a line of it is no JSON', error)
  }
}

function damaged(path: string, what: string, cause?: unknown): HearthError {
  return new HearthError('invalid_request', `${path}: ${what}`, {
    cause,
    suggestion: 'It is not what `hearth events ID --export FILE` wrote.',
  })
}

function people({ valid, problem, entries, unproven, dropped, head }: RecordVerdict): string {
  const lines = [
    valid ? 'whole' : `NOT WHOLE: ${problem ?? ''}`,
    ...(unproven === 0 ? [] : [`NOT PROVEN: the first ${unproven} entries have no hash`]),
    `${entries} entries${dropped === null ? '' : `, ${dropped.count} before them dropped by retention`}`,
    `head ${head.hash}`,
    ...(head.publicKey === null ? ['not signed'] : [`signed with ${head.publicKey}`]),
  ]
  return lines.map((line) => `${line}\n`).join('')
}

/** One that has ended is no longer found, but its record is. */
async function idOf(hearth: Hearth, name: string): Promise<string> {
  return /^sb_.{20}$/.test(name) ? name : (await findSandbox(hearth, name)).id
}
