import { posix } from 'node:path'
import { HearthError, type FileInfo } from '@hearth/contract'
import type { Message } from '../connect/messages.ts'
import { entryOf, statEntry } from './entries.ts'
import { resolvePath, type EnvdCall } from './envd-call.ts'
import { serverStream, timeLimit, unary, type Rpc } from './rpc.ts'
import { eventsOf } from './watchers.ts'

const MOST_DEPTH = 1024

/** envd's service for files, every method. */
export const FILESYSTEM_SERVICE: Readonly<Record<string, Rpc>> = {
  Stat: unary('files', ['Path', 'Entry'], async (call, { path }) => ({ entry: await entryAt(call, path) })),
  ListDir: unary('files', ['ListDirRequest', 'ListDirResponse'], async (call, { path, depth }) => {
    const { sandbox, e2b } = call
    const directory = await resolvePath(call, path)
    await requireDirectory(call, directory)
    const found = await sandbox.files.list(directory, { depth: Math.min(Math.max(1, depth), MOST_DEPTH) })
    return { entries: await Promise.all(found.map((info) => entryOf(sandbox, e2b, info))) }
  }),
  MakeDir: unary('files', ['Path', 'Entry'], makeDirectory),
  Move: unary('files', ['MoveRequest', 'Entry'], async (call, { source, destination }) => {
    const { files } = call.sandbox
    const [from, to] = [await resolvePath(call, source), await resolvePath(call, destination)]
    await files.stat(from, { followSymlinks: false })
    await makeParents(call, to)
    await files.rename(from, to)
    await call.e2b.metadata.move(call.sandbox, from, to)
    return { entry: await entryAt(call, to) }
  }),
  Remove: unary('files', ['Path', 'Empty'], async (call, { path }) => {
    const removed = await resolvePath(call, path)
    await call.sandbox.files.remove(removed, { recursive: true, force: true })
    await call.e2b.metadata.remove(call.sandbox, removed)
    return {}
  }),
  WatchDir: serverStream('files', ['WatchRequest', 'WatchDirResponse'], { keepalive: {} }, async (call, request) => {
    const { changes, watched } = await watch(call, request)
    return {
      stop: () => void changes[Symbol.asyncDispose](),
      deadlineMs: timeLimit(call),
      work: async (send) => {
        await send({ start: {} })
        for await (const change of changes) {
          const events = await eventsOf(call.sandbox, call.e2b, watched, change)
          for (const filesystem of events) await send({ filesystem })
        }
      },
      [Symbol.asyncDispose]: () => changes[Symbol.asyncDispose](),
    }
  }),
  CreateWatcher: unary('files', ['WatchRequest', 'Watcher'], async (call, request) => {
    const { changes, watched } = await watch(call, request)
    try {
      return { watcherId: call.e2b.watchers.create(call.sandbox, changes, watched) }
    } catch (error) {
      await changes[Symbol.asyncDispose]()
      throw error
    }
  }),
  GetWatcherEvents: unary('files', ['Watcher', 'WatcherEvents'], async ({ e2b, sandbox }, { watcherId }) => ({
    events: e2b.watchers.take(sandbox, watcherId),
  })),
  RemoveWatcher: unary('files', ['Watcher', 'Empty'], async ({ e2b, sandbox }, { watcherId }) => {
    await e2b.watchers.remove(sandbox, watcherId)
    return {}
  }),
}

async function entryAt(call: EnvdCall, path: string) {
  return await statEntry(call.sandbox, call.e2b, await resolvePath(call, path))
}

async function makeDirectory(call: EnvdCall, { path }: Message<'Path'>) {
  const directory = await resolvePath(call, path)
  const found = await existing(call, directory)
  if (found?.type === 'directory') throw new HearthError('file_exists', `directory already exists: ${directory}`)
  if (found !== null)
    throw new HearthError('not_a_directory', `path already exists but it is not a directory: ${directory}`)
  await call.sandbox.files.makeDirectory(directory, { parents: true, ...owner(call) })
  return { entry: await entryAt(call, directory) }
}

async function makeParents(call: EnvdCall, path: string): Promise<void> {
  const parent = posix.dirname(path)
  if ((await existing(call, parent)) !== null) return
  await call.sandbox.files.makeDirectory(parent, { parents: true, ...owner(call) })
}

async function watch(call: EnvdCall, { path, recursive, includeEntry }: Message<'WatchRequest'>) {
  const directory = await resolvePath(call, path)
  await requireDirectory(call, directory)
  const changes = await call.sandbox.watch(directory, { recursive })
  return { changes, watched: { path: directory, includeEntry } }
}

async function requireDirectory({ sandbox }: EnvdCall, path: string): Promise<void> {
  const { type } = await sandbox.files.stat(path)
  if (type !== 'directory') throw new HearthError('not_a_directory', `path is not a directory: ${path}`)
}

async function existing({ sandbox }: EnvdCall, path: string): Promise<FileInfo | null> {
  try {
    return await sandbox.files.stat(path)
  } catch (error) {
    if (HearthError.isInstance(error) && error.code === 'file_not_found') return null
    throw error
  }
}

function owner({ user }: EnvdCall): { readonly user?: string } {
  return user === null ? {} : { user }
}
