import { HearthError } from '@hearth/contract'
import { readBody } from '../../http/bodies/read-body.ts'
import { INERT_HEADERS, sendBytes } from '../../http/streams/send-bytes.ts'
import { routes, type Answer, type Call, type Route } from './call.ts'
import { entryView } from './views.ts'

export const FILE_ROUTES: readonly Route[] = routes('files', {
  'GET /sandboxes/{id}/fs': ['files', read],
  'PUT /sandboxes/{id}/fs': ['files', write],
  'DELETE /sandboxes/{id}/fs': ['files', remove],
  'GET /sandboxes/{id}/fs/dir': ['files', list],
  'GET /sandboxes/{id}/fs/stat': ['files', stat],
})

function pathOf(call: Call): string {
  const path = call.query('path') ?? ''
  if (!path.startsWith('/') || path.includes('\0')) throw new HearthError('invalid_request', 'path: must be absolute')
  return path
}

async function read(call: Call): Promise<Answer> {
  const path = pathOf(call)
  await call.inside(async (sandbox) => {
    const { size, type } = await sandbox.files.stat(path, { followSymlinks: true })
    if (type !== 'file') throw new HearthError('is_a_directory', `${path} is not a file`)
    await sendBytes(call, call.services.limits, {
      status: 200,
      headers: { ...INERT_HEADERS, 'content-type': 'application/octet-stream' },
      length: size,
      content: (signal) => sandbox.files.readStream(path, { signal }),
    })
  })
  return null
}

async function write(call: Call): Promise<Answer> {
  const path = pathOf(call)
  const { limits } = call.services
  const bounds = { maximumBytes: limits.uploadBytes, idleMs: limits.bodyIdleMs }
  const { size } = await call.inside((sandbox) =>
    sandbox.files.write(path, readBody(call.incoming, bounds), { parents: true, signal: call.operation.signal }),
  )
  return { status: 200, json: { path, bytes: size } }
}

async function remove(call: Call): Promise<Answer> {
  const path = pathOf(call)
  await call.inside((sandbox) => sandbox.files.remove(path, { recursive: true }))
  return { status: 204 }
}

async function list(call: Call): Promise<Answer> {
  const path = pathOf(call)
  const entries = await call.inside((sandbox) => sandbox.files.list(path))
  return { status: 200, json: { path, entries: entries.map(entryView) } }
}

async function stat(call: Call): Promise<Answer> {
  const path = pathOf(call)
  return { status: 200, json: entryView(await call.inside((sandbox) => sandbox.files.stat(path))) }
}
