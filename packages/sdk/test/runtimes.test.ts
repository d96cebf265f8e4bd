import { execFile, execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import * as script from '../src/testing/scripted-server.fixture.ts'
import { EXIT, ID, output, STARTED, view } from '../src/testing/scripted-server.fixture.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../../..')

/** Installed here alone: they are large, and nothing else needs them. */
const installed = join(import.meta.dirname, 'runtimes')

/** The program of a package for this platform, if it has one. */
function packaged(scope: string, program: string): string | null {
  const packages = join(installed, 'node_modules', scope)
  const [name] = existsSync(packages) ? readdirSync(packages) : []
  return name === undefined ? null : join(packages, name, program)
}

const RUNTIMES = {
  'Node 20': () => command(node20()),
  Bun: () => command(packaged('@oven', 'bin/bun')),
  Deno: () => command(packaged('@deno', 'deno'), 'run', '--allow-net', '--allow-env'),
} as const

function command(path: string | null, ...args: string[]): { path: string; args: readonly string[] } | null {
  return path === null ? null : { path, args }
}

/** The oldest Node that is supported, where this machine has one: another than the one in the dependencies. */
function node20(): string | null {
  const candidates = (process.env['PATH'] ?? '').split(delimiter).map((directory) => join(directory, 'node'))
  return candidates.find((path) => versionOf(path)?.startsWith('v20.') === true) ?? null
}

function versionOf(path: string): string | null {
  try {
    return execFileSync(path, ['--version'], { encoding: 'utf8' })
  } catch {
    // Not there, or not for this machine.
    return null
  }
}

let built = ''
beforeAll(async () => {
  if (packaged('@oven', '') === null) await run('npm', ['ci', '--ignore-scripts', '--no-audit'], { cwd: installed })
  built = mkdtempSync(join(tmpdir(), 'hearth-sdk-'))
  await run(
    process.execPath,
    [join(root, 'node_modules/typescript/bin/tsc'), '-p', 'packages/sdk/tsconfig.build.json', '--outDir', built],
    {
      cwd: root,
    },
  )
  writeFileSync(join(built, 'package.json'), '{"type": "module"}')
}, 180_000)
afterAll(() => rmSync(built, { recursive: true, force: true }))

test('the built package needs nothing else', () => {
  const files = readdirSync(built, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.js'))
  expect(files).toContain('index.js')
  expect(files.filter((name) => name.includes('.test.') || name.includes('.fixture.'))).toEqual([])
  for (const name of files) {
    const source = readFileSync(join(built, name), 'utf8')
    const imports = [...source.matchAll(/\b(?:from|import)\s*\(?\s*['"]([^'"\n]+)['"]/g)].map((match) => match[1] ?? '')
    for (const specifier of imports) expect(specifier, name).toMatch(/^\.\.?\/.*\.js$/)
    expect(source, name).not.toMatch(/\brequire\(/)
  }
  const { dependencies } = JSON.parse(readFileSync(join(root, 'packages/sdk/package.json'), 'utf8')) as {
    dependencies?: object
  }
  expect(dependencies).toBeUndefined()
})

const PROGRAM = `
import { Hearth, HearthError } from './index.js'
const hearth = new Hearth()
const sandbox = await hearth.create({ metadata: { a: 'b' } })
const result = await sandbox.exec('echo hello')
const spawned = await sandbox.spawn('x', { pty: { rows: 24, cols: 80 }, stdin: 'pipe' })
await spawned.write('typed')
let text = ''
for await (const chunk of spawned.output) text += new TextDecoder().decode(chunk.data)
const exit = await spawned.wait()
async function* parts() { for (const part of ['one ', 'two']) yield new TextEncoder().encode(part) }
await sandbox.files.write('/file', parts())
const content = await sandbox.files.readText('/file')
const refused = typeof WebSocket === 'undefined' ? await sandbox.port(1).connect().catch((error) => error) : null
await sandbox[Symbol.asyncDispose]()
console.log(JSON.stringify({
  id: sandbox.id, stdout: result.stdout, text, exitCode: exit.exitCode, content,
  ...(refused === null ? {} : { port: HearthError.isInstance(refused) && refused.code }),
}))
`

test.for(Object.entries(RUNTIMES))('it runs on %s', async ([name, find], context) => {
  const runtime = find()
  if (runtime === null) return context.skip(`this machine has no ${name}`)
  await using server = await script.ScriptedServer.listen()
  const base = `/sandboxes/${ID}`
  const file = {
    path: '/file',
    name: 'file',
    type: 'file',
    size: 7,
    mode: 420,
    uid: 0,
    gid: 0,
    modifiedAt: new Date().toISOString(),
    target: null,
  }
  server.on('POST /sandboxes', script.hangUp, script.json(view(), 201))
  server.on(
    `POST ${base}/exec`,
    script.json({ ...EXIT, stdout: 'hello\n', stderr: '', output: 'hello\n', truncated: false, totalOutputBytes: 6 }),
  )
  server.on(`POST ${base}/processes`, script.events(STARTED, output(0, 'abc')))
  server.on(
    `GET ${base}/processes/7/output`,
    script.hangUp,
    script.events(STARTED, output(3, 'def'), { type: 'exit', exit: EXIT }),
  )
  server.on(`PUT ${base}/processes/7/stdin`, script.json({})).on(`PUT ${base}/files`, script.json(file))
  server.on(`GET ${base}/files`, (_, response) => void response.writeHead(200).end('content'))
  server.on(`DELETE ${base}`, (_, response) => void response.writeHead(204).end())
  writeFileSync(join(built, 'program.js'), PROGRAM)
  const { stdout } = await run(runtime.path, [...runtime.args, join(built, 'program.js')], {
    env: { HEARTH_URL: server.url, HEARTH_API_KEY: 'hearth_environment' },
    timeout: 30_000,
  })
  expect(JSON.parse(stdout)).toEqual({
    id: ID,
    stdout: 'hello\n',
    text: 'abcdef',
    exitCode: 0,
    content: 'content',
    // Newer ones and the others have a WebSocket of their own.
    ...(name === 'Node 20' ? { port: 'capability_unsupported' } : {}),
  })
  expect(server.asked(`PUT ${base}/files`)[0]?.body.toString()).toBe('one two')
  expect(server.asked(`PUT ${base}/processes/7/stdin`)[0]?.body.toString()).toBe('typed')
  expect(server.requests.every((request) => request.headers.authorization === 'Bearer hearth_environment')).toBe(true)
})
