import { posix } from 'node:path'
import { guestPathSchema, HearthError, parseInput } from '@hearth/contract'
import { z } from 'zod'
import { multipartBoundary, readParts } from '../../../http/bodies/multipart.ts'
import { readBody } from '../../../http/bodies/read-body.ts'
import { unpacked } from '../../../http/bodies/unpacked.ts'
import { fileDownload } from '../../../http/streams/file-download.ts'
import { sendBytes } from '../../../http/streams/send-bytes.ts'
import { sendJson } from '../../answers.ts'
import { readJson } from '../../json-body.ts'
import { begin, resolvePath, type EnvdCall } from './envd-call.ts'
import { metadataOf, type Metadata } from './file-metadata.ts'

const composeSchema = z.object({
  source_paths: z.array(z.string().max(4096)).min(1).max(1000),
  destination: z.string().min(1).max(4096),
})

interface Written {
  readonly path: string
  readonly name: string
  readonly type: 'file'
  readonly metadata?: Metadata
}

export async function readFile(call: EnvdCall, query: URLSearchParams): Promise<void> {
  begin(call, 'files.read', 'files')
  const path = await filePath(call, query.get('path'))
  const { range, 'if-range': condition } = call.incoming.headers
  const download = await fileDownload(call.sandbox, path, { range, condition })
  const headers = { ...download.headers, 'content-disposition': 'inline' }
  await sendBytes(call, call.e2b.services.limits, { ...download, headers })
}

/** One file as the body, or several as the parts of a form: the name of each is then its path. */
export async function writeFiles(call: EnvdCall, query: URLSearchParams): Promise<void> {
  begin(call, 'files.write', 'files')
  const { headers } = call.incoming
  const metadata = metadataOf(headers)
  const type = headers['content-type'] ?? ''
  const written = /^application\/octet-stream\b/i.test(type)
    ? [await writeFile(call, query.get('path'), content(call), metadata)]
    : await writeParts(call, query.get('path'), multipartBoundary(type), metadata)
  sendJson(call.outgoing, 200, written)
}

/** Puts files together to one and removes them. */
export async function composeFiles(call: EnvdCall): Promise<void> {
  begin(call, 'files.compose', 'files')
  const { source_paths: sources, destination } = await readJson(call.incoming, call.e2b.services.limits, composeSchema)
  const paths = await Promise.all(sources.map((source) => filePath(call, source)))
  const { files } = call.sandbox
  const all = async function* (): AsyncGenerator<Uint8Array> {
    for (const path of paths) yield* files.readStream(path)
  }
  const written = await writeFile(call, destination, all(), {})
  for (const path of paths) if (path !== written.path) await files.remove(path)
  sendJson(call.outgoing, 200, [written])
}

async function writeParts(
  call: EnvdCall,
  path: string | null,
  boundary: string,
  metadata: Metadata,
): Promise<Written[]> {
  const written: Written[] = []
  const { formFiles } = call.e2b.services.limits
  for await (const { name, filename, content: part } of readParts(content(call), boundary)) {
    if (name !== 'file') continue
    if (written.length >= formFiles) throw new HearthError('invalid_request', `at most ${formFiles} files at once`)
    const file = await resolved(call, path ?? filename)
    if (written.some((other) => other.path === file)) {
      throw new HearthError('invalid_request', `you cannot upload multiple files to the same path '${file}'`)
    }
    written.push(await writeTo(call, file, part, metadata))
  }
  if (written.length === 0) throw new HearthError('invalid_request', 'the form has no part named `file`')
  return written
}

async function writeFile(
  call: EnvdCall,
  path: string | null,
  data: AsyncIterable<Uint8Array>,
  metadata: Metadata,
): Promise<Written> {
  return await writeTo(call, await resolved(call, path), data, metadata)
}

/** What was said about the file before goes with each upload. */
async function writeTo(
  { user, operation, sandbox, e2b }: EnvdCall,
  path: string,
  data: AsyncIterable<Uint8Array>,
  metadata: Metadata,
): Promise<Written> {
  const isDescribed = Object.keys(metadata).length > 0
  if (isDescribed) await e2b.metadata.requireRoom(sandbox, path)
  await sandbox.files.write(path, data, { signal: operation.signal, ...(user === null ? {} : { user }) })
  await e2b.metadata.set(sandbox, path, metadata)
  return { path, name: posix.basename(path), type: 'file', ...(isDescribed ? { metadata } : {}) }
}

async function resolved(call: EnvdCall, path: string | null): Promise<string> {
  if (path === null || path === '') throw new HearthError('invalid_request', 'path: is missing')
  return await filePath(call, path)
}

/** An empty path is the home of the user, which is a directory and refused as one. */
async function filePath(call: EnvdCall, path: string | null): Promise<string> {
  return parseInput(guestPathSchema, await resolvePath(call, path ?? ''), 'path')
}

/** The body, unpacked where it is compressed; both forms count against the bound. */
function content(call: EnvdCall): AsyncIterable<Uint8Array> {
  const { uploadBytes, bodyIdleMs } = call.e2b.services.limits
  const body = readBody(call.incoming, { maximumBytes: uploadBytes, idleMs: bodyIdleMs })
  const encoding = call.incoming.headers['content-encoding'] ?? 'identity'
  if (encoding === 'identity') return body
  if (encoding === 'gzip') return unpacked(body, uploadBytes)
  throw new HearthError('unsupported_media_type', 'content-encoding: must be gzip or identity')
}
