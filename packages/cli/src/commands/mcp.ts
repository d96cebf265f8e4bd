import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { once } from 'node:events'
import { configurationFor, httpServer, makeServer, Session, type Client, type Launch } from '@hearth/mcp'
import { Hearth, HearthError, type CreateSandbox } from '@hearth/sdk'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import type { CreateOptions } from '../options/create-options.ts'
import { presentOne } from '../output/present.ts'
import { findCreateSpec } from '../server/find-create-spec.ts'
import { findServer } from '../server/find-server.ts'
import { findSandbox } from '../server/find-sandbox.ts'
import { withServer, type ServerOptions } from '../server/with-server.ts'
import { version } from '../version.ts'

export interface McpOptions extends CreateOptions, ServerOptions {
  readonly sandbox?: string
  readonly multi?: boolean
  readonly http?: number
}

/** Serves the protocol until the client goes: on standard input and output, or over HTTP. */
export async function mcp(options: McpOptions): Promise<number> {
  return options.http === undefined ? await overStdio(options) : await overHttp(options.http, options)
}

async function overStdio(options: McpOptions): Promise<number> {
  const found = findServer(options.port)
  const hearth = new Hearth({ url: found.url, apiKey: found.apiKey ?? '' })
  // What is wrong with the server is said at once, to whoever looks at standard error, not in each tool.
  const { spec, sandbox } = await withServer(options, async () => ({
    spec: await specOf(hearth, options),
    sandbox: options.sandbox === undefined ? null : (await findSandbox(hearth, options.sandbox)).id,
  }))
  await using session = new Session({
    hearth,
    multi: options.multi === true,
    spec,
    ...(sandbox === null ? {} : { sandbox }),
  })
  const handle = serveStdio(() => makeServer(session, version()))
  await Promise.race([once(process.stdin, 'end'), once(process.stdin, 'close'), ended()])
  await handle.close()
  return 0
}

async function overHttp(port: number, options: McpOptions): Promise<number> {
  const spec = await withServer(options, (hearth) => specOf(hearth, options))
  const { url } = findServer(options.port)
  const server = httpServer({ url, spec, version: version() })
  server.listen(port, '127.0.0.1')
  await Promise.race([
    once(server, 'listening'),
    once(server, 'error').then(([error]) => Promise.reject(error as Error)),
  ])
  const address = server.address()
  const bound = typeof address === 'object' && address !== null ? address.port : port
  process.stderr.write(`MCP at http://127.0.0.1:${bound}/ with a key of ${url} as bearer token; Ctrl-C ends it\n`)
  await ended()
  server.close()
  server.closeAllConnections()
  return 0
}

/** What sandboxes are made of. A server that cannot be asked is found out here. */
async function specOf(hearth: Hearth, options: McpOptions): Promise<CreateSandbox> {
  await hearth.page({ limit: 1 })
  return await findCreateSpec(hearth, options, {})
}

async function ended(): Promise<void> {
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
}

export interface InstallOptions {
  readonly print?: boolean
  readonly json?: boolean
  readonly quiet?: boolean
  readonly multi?: boolean
}

/** Writes the configuration of a client, and shows what it wrote. */
export async function install(client: Client, options: InstallOptions): Promise<number> {
  const program = join(import.meta.dirname, '../../bin/hearth.js')
  const args = [program, 'mcp', ...(options.multi === true ? ['--multi'] : [])]
  const launch = { command: process.execPath, args, ...whichServer() }
  const { path, content } = configured(client, launch)
  if (options.print !== true) write(path, content)
  const people = (): string => `${options.print === true ? 'would write' : 'wrote'} ${path}:\n${content}`
  await presentOne(options, { id: path, json: { client, path, content, written: options.print !== true }, people })
  return 0
}

/** The same server that this command would find. The key is found by its home, or given by the person: it does not belong into a file of a project. */
function whichServer(): Partial<Pick<Launch, 'env'>> {
  const given = ['HEARTH_HOME', 'HEARTH_URL'].flatMap((name) => {
    const value = process.env[name] ?? ''
    return value === '' ? [] : [[name, name === 'HEARTH_HOME' ? resolve(value) : value]]
  })
  return given.length === 0 ? {} : { env: Object.fromEntries(given) as Record<string, string> }
}

/** Whole or not at all, with the rights that it had; a link stays one, and what it leads to is replaced. */
function replaceFile(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true })
  const target = existsSync(path) ? realpathSync(path) : path
  const mode = existsSync(target) ? statSync(target).mode & 0o777 : 0o644
  const draft = `${target}.${randomBytes(6).toString('hex')}`
  try {
    writeFileSync(draft, content, { mode, flag: 'wx' })
    renameSync(draft, target)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
}

/** What is in the way is the person's to remove. */
function write(path: string, content: string): void {
  try {
    replaceFile(path, content)
  } catch (error) {
    throw new HearthError('invalid_request', `${path} cannot be written: ${(error as Error).message}`, { cause: error })
  }
}

function configured(client: Client, launch: Launch): ReturnType<typeof configurationFor> {
  try {
    return configurationFor(client, { project: process.cwd(), home: homedir(), launch, read })
  } catch (error) {
    throw new HearthError('invalid_request', (error as Error).message, { cause: error })
  }
}

function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}
