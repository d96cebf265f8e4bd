import type { IncomingMessage, ServerResponse } from 'node:http'
import { posix } from 'node:path'
import { guestPathSchema, HearthError, parseInput, type FileInfo } from '@hearth/contract'
import { z } from 'zod'
import type { Caller } from '../../../control-plane.ts'
import { bearerToken } from '../../../http/access/key-cache.ts'
import { requireScope } from '../../../http/access/scopes.ts'
import { readBody } from '../../../http/bodies/read-body.ts'
import type { Operation } from '../../../http/operation.ts'
import { clientSignal } from '../../../http/outliving.ts'
import { fileDownload } from '../../../http/streams/file-download.ts'
import { sendBytes } from '../../../http/streams/send-bytes.ts'
import { sendEmpty, sendJson } from '../../answers.ts'
import { readJson } from '../../json-body.ts'
import type { Answer } from '../control/call.ts'
import { keyCaller } from '../access/sandbox-access.ts'
import type { E2b } from '../e2b.ts'
import { e2bStatus, refuse } from '../failures.ts'
import type { VolumeFiles } from './volume-files.ts'

const PATH = /^\/volumecontent\/(vol_[0-9a-z]{1,64})\/(dir|path|file)$/
const MOST_DEPTH = 64

const ownershipSchema = z.object({
  uid: z.int().min(0).max(65_533).nullish(),
  gid: z.int().min(0).max(65_533).nullish(),
  mode: z.int().min(0).max(0o7777).nullish(),
})
type Ownership = z.output<typeof ownershipSchema>

export function isVolumeContent({ url }: IncomingMessage): boolean {
  return (url ?? '').startsWith('/volumecontent/')
}

interface ContentCall extends VolumeFiles {
  readonly e2b: E2b
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
  readonly operation: Operation
  readonly query: URLSearchParams
}

const METHODS: Readonly<Record<string, (call: ContentCall) => Promise<Answer | null>>> = {
  'GET dir': listDirectory,
  'POST dir': makeDirectory,
  'GET path': async (call) => ({ status: 200, json: await entryAt(call, pathOf(call)) }),
  'PATCH path': changeOwnership,
  'DELETE path': removePath,
  'GET file': readFile,
  'PUT file': writeFile,
}

/** What is in a volume, for whoever has its token: it is good for one volume, goes as far as the key that it was given to, and ends with it. */
export async function handleVolumeContent(
  e2b: E2b,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  operation: Operation,
): Promise<void> {
  operation.name = 'e2b.volume.content'
  try {
    const [path = '', search = ''] = (incoming.url ?? '').split('?', 2)
    const [, id = '', kind = ''] = PATH.exec(path) ?? []
    const caller = await callerOf(e2b, incoming, operation, id)
    requireScope(caller.scopes, 'files')
    const method = METHODS[`${incoming.method} ${kind}`]
    if (method === undefined) throw new HearthError('not_found', 'there is nothing at this path')
    const parts = { e2b, incoming, outgoing, operation, query: new URLSearchParams(search) }
    const reaching = { id, readOnly: incoming.method === 'GET', signal: operation.signal }
    // The answer comes when the volume is free again, so that what a client does next finds it so.
    const answer = await e2b.volumes.with(e2b, caller, reaching, (files) => method({ ...parts, ...files }))
    if (answer === null) return
    if (answer.json === undefined) sendEmpty(outgoing, answer.status)
    else sendJson(outgoing, answer.status, answer.json)
  } catch (error) {
    const failure = operation.failed(error)
    // Here, and nowhere else, clients take the code for a text.
    refuse(incoming, outgoing, failure, { code: String(e2bStatus(failure)), message: failure.message })
  }
}

async function callerOf(e2b: E2b, incoming: IncomingMessage, operation: Operation, id: string): Promise<Caller> {
  const grant = await e2b.services.access.guarded(incoming, async () => {
    const found = e2b.tokens.volumeGrant(bearerToken(incoming.headers.authorization ?? ''), id)
    if (found === null) throw new HearthError('unauthorized', 'the token is not of this volume')
    return found
  })
  return await keyCaller(e2b, grant, operation)
}

async function listDirectory(call: ContentCall): Promise<Answer> {
  const depth = integerOf(call, 'depth', MOST_DEPTH) ?? 1
  const entries = await call.sandbox.files.list(pathOf(call), { depth: Math.max(1, depth) })
  return { status: 200, json: entries.map((info) => entryOf(call, info)) }
}

async function makeDirectory(call: ContentCall): Promise<Answer> {
  const path = pathOf(call)
  const parents = call.query.get('force') === 'true'
  if (!parents && (await call.sandbox.files.exists(path))) throw new HearthError('file_exists', `${path} is there`)
  await call.sandbox.files.makeDirectory(path, { parents })
  await own(call, path, queriedOwnership(call))
  return { status: 201, json: await entryAt(call, path) }
}

async function changeOwnership(call: ContentCall): Promise<Answer> {
  const path = pathOf(call)
  const wanted = await readJson(call.incoming, call.e2b.services.limits, ownershipSchema)
  await call.sandbox.files.stat(path)
  await own(call, path, wanted)
  return { status: 200, json: await entryAt(call, path) }
}

async function removePath(call: ContentCall): Promise<Answer> {
  const path = pathOf(call)
  if (path === call.root)
    throw new HearthError('invalid_request', 'path: the volume itself is removed with DELETE /volumes')
  await call.sandbox.files.remove(path, { recursive: true })
  return { status: 204 }
}

/** While it is attached: nothing of it is held here. */
async function readFile(call: ContentCall): Promise<null> {
  const { range, 'if-range': condition } = call.incoming.headers
  await sendBytes(call, call.e2b.services.limits, await fileDownload(call.sandbox, pathOf(call), { range, condition }))
  return null
}

async function writeFile(call: ContentCall): Promise<Answer> {
  const path = pathOf(call)
  const { uploadBytes, bodyIdleMs } = call.e2b.services.limits
  const content = readBody(call.incoming, { maximumBytes: uploadBytes, idleMs: bodyIdleMs })
  const parents = call.query.get('force') === 'true'
  await call.sandbox.files.write(path, content, { parents, signal: call.operation.signal })
  await own(call, path, queriedOwnership(call))
  return { status: 201, json: await entryAt(call, path) }
}

/** Below the root of the volume, whatever is written. */
function pathOf({ query, root }: ContentCall): string {
  const path = posix.join(root, posix.resolve('/', query.get('path') ?? '/'))
  return parseInput(guestPathSchema, path === `${root}/` ? root : path, 'path')
}

function queriedOwnership(call: ContentCall): Ownership {
  const [uid, gid, mode] = ['uid', 'gid', 'mode'].map((name) => integerOf(call, name, Number.MAX_SAFE_INTEGER))
  return parseInput(ownershipSchema, { uid, gid, mode }, 'query')
}

async function own({ sandbox, operation }: ContentCall, path: string, { uid, gid, mode }: Ownership): Promise<void> {
  const [user, group] = [uid ?? null, gid ?? null]
  if (user !== null || group !== null) {
    const command = ['chown', '-h', '--', `${user ?? ''}:${group ?? ''}`.replace(/:$/, ''), path]
    const { exitCode, stderr } = await sandbox.exec(command, {
      user: 'root',
      cwd: '/',
      signal: clientSignal(operation),
    })
    if (exitCode !== 0) throw new HearthError('permission_denied', stderr.trim())
  }
  if (mode !== null && mode !== undefined) await sandbox.files.chmod(path, mode)
}

async function entryAt(call: ContentCall, path: string): Promise<Record<string, unknown>> {
  return entryOf(call, await call.sandbox.files.stat(path, { followSymlinks: false }))
}

function entryOf({ root }: ContentCall, info: FileInfo): Record<string, unknown> {
  const path = info.path === root ? '/' : info.path.slice(root.length)
  const known = ['file', 'directory', 'symlink'].includes(info.type)
  const time = info.modifiedAt.toISOString()
  return {
    name: posix.basename(path),
    type: known ? info.type : 'unknown',
    path,
    size: info.size,
    mode: info.mode,
    uid: info.uid,
    gid: info.gid,
    atime: time,
    mtime: time,
    ctime: time,
    ...(info.target === null ? {} : { target: info.target }),
  }
}

function integerOf({ query }: ContentCall, name: string, most: number): number | null {
  const text = query.get(name)
  if (text === null || text === '') return null
  if (/^\d{1,9}$/.test(text) && Number(text) <= most) return Number(text)
  throw new HearthError('invalid_request', `${name}: must be an integer`)
}
