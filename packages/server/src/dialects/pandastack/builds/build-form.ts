import { HearthError, parseInput } from '@hearth/contract'
import { z } from 'zod'
import { multipartBoundary, readParts, type Part } from '../../../http/bodies/multipart.ts'
import { readBody } from '../../../http/bodies/read-body.ts'
import type { Call } from '../call.ts'
import { unsupported } from '../failures.ts'
import { ContextFiles } from './context-files.ts'

/** Of a Dockerfile and all files that come with it: they are held until they were copied. */
const MOST_BYTES = 50 * 1024 ** 2
const MOST_FIELD_BYTES = 256 * 1024
const MOST_FILES = 10_000

const number = z
  .string()
  .regex(/^\d{1,8}(\.\d{1,3})?$/, 'must be a number')
  .transform(Number)

const formSchema = z.object({
  name: z.string().min(1).max(128),
  size_mb: number.optional(),
  cpu: number.optional(),
  memory_mb: number.optional(),
  image_ref: z.string().min(1).max(512).optional(),
  dockerfile: z.string().min(1).optional(),
})

export interface BuildForm extends z.output<typeof formSchema> {
  readonly files: ContextFiles
}

/** A form whose fields are what is to be built; each part that has a file name is a file, and its field is the path. */
export async function readBuildForm(call: Call): Promise<BuildForm> {
  const { headers } = call.incoming
  const { bodyIdleMs } = call.services.limits
  const body = readBody(call.incoming, { maximumBytes: MOST_BYTES, idleMs: bodyIdleMs })
  const files = new ContextFiles()
  const fields: Record<string, string> = {}
  let count = 0
  for await (const part of readParts(body, multipartBoundary(headers['content-type']))) {
    if (part.name === 'rootfs')
      throw unsupported('root file systems as an archive; register an image or send a Dockerfile')
    if (part.name === 'kernel') throw unsupported('kernels of templates')
    if (++count > MOST_FILES) throw new HearthError('invalid_request', `at most ${MOST_FILES} files at once`)
    if (part.filename !== null) files.set(part.name, await contentOf(part, MOST_BYTES))
    else fields[part.name] = (await contentOf(part, MOST_FIELD_BYTES)).toString('utf8')
  }
  return { ...parseInput(formSchema, fields, 'form'), files }
}

async function contentOf({ name, content }: Part, most: number): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  let length = 0
  for await (const piece of content) {
    length += piece.length
    if (length > most) throw new HearthError('body_too_large', `${name.slice(0, 64)}: is larger than ${most} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}
