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
const runtimes = join(import.meta.dirname, 'runtimes')

/** The program of a package for this platform, if it has one. */
function packaged(scope: string, program: string): string | null {
  const packages = join(runtimes, 'node_modules', scope)
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

let home = ''
let installed = ''
beforeAll(async () => {
  if (packaged('@oven', '') === null) await run('npm', ['ci', '--ignore-scripts', '--no-audit'], { cwd: runtimes })
  home = mkdtempSync(join(tmpdir(), 'hearth-sdk-'))
  await run(process.execPath, ['packages/sdk/scripts/build.ts', join(home, 'built')], { cwd: root })
  const { stdout } = await run('npm', ['pack', '--json', join(home, 'built')], { cwd: home })
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }]
  writeFileSync(join(home, 'package.json'), '{"type": "module"}')
  await run('npm', ['install', '--offline', '--no-audit', join(home, filename)], { cwd: home })
  rmSync(join(home, 'built'), { recursive: true })
  installed = join(home, 'node_modules/@hearth/sdk')
}, 180_000)
afterAll(() => rmSync(home, { recursive: true, force: true }))

test('the package needs nothing else', () => {
  expect(readdirSync(join(home, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual(['@hearth'])
  const files = readdirSync(installed, { recursive: true, encoding: 'utf8' }).filter((name) => /\.[jt]s$/.test(name))
  expect(files).toEqual(expect.arrayContaining(['index.js', 'index.d.ts', 'contract.d.ts']))
  expect(files.filter((name) => /\.(test|fixture)\.|(?<!\.d)\.ts$/.test(name))).toEqual([])
  for (const name of files) {
    const source = readFileSync(join(installed, name), 'utf8')
    const imports = [...source.matchAll(/(?:\bfrom|\bimport|^import\b.*\bfrom)\s*\(?\s*(['"])([^'"\n]+)\1/gm)]
    for (const [, , specifier] of imports) expect(specifier, name).toMatch(/^\.\.?\/.*\.js$/)
    expect(source, name).not.toMatch(/\brequire\(/)
  }
  const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as Record<string, unknown>
  for (const field of ['dependencies', 'devDependencies', 'scripts', 'private'])
    expect(manifest).not.toHaveProperty(field)
})

const TYPED = `
import { Hearth, HearthError, type CreateSandbox, type ErrorCode, type ExecResult, type Policy, type Rung } from '@hearth/sdk'
const policy: Policy = { allow: ['example.com:443', { name: 'api.example.com', methods: ['GET'] }], mode: 'enforce' }
const spec: CreateSandbox = { atLeast: 'gvisor', policy, limits: { memoryBytes: 1 }, volumes: [{ volume: 'data', path: '/data' }] }
await using sandbox = await new Hearth({ url: 'http://127.0.0.1:1' }).create(spec, { signal: AbortSignal.timeout(1) })
const rung: Rung = sandbox.info.rung
const result: ExecResult = await sandbox.exec(['true'], { timeoutMs: 1, env: { A: 'b' } })
const exitCode: number | null = result.exitCode
const page: Response = await sandbox.port(80).fetch('/')
for await (const { data } of (await sandbox.spawn('x')).output) data.byteLength.toFixed()
export function code(error: unknown): ErrorCode | null { return HearthError.isInstance(error) ? error.code : null }
// @ts-expect-error No rung has this name, so that the types are there.
const none: CreateSandbox = { rung: 'paper' }
// @ts-expect-error Nor has a policy such rules.
const rules: Policy = { allow: [1] }
// @ts-expect-error What a call gives is no \`any\`.
const text: string = result.exitCode
export { exitCode, none, page, rules, rung, text }
`

interface Surroundings {
  readonly what: string
  readonly lib: readonly string[]
  readonly types: readonly string[]
}

test.for<Surroundings>([
  { what: 'the DOM', lib: ['es2022', 'dom'], types: [] },
  { what: 'Node', lib: ['es2022'], types: ['node'] },
])('strict programs find all types, with those of $what alone', { timeout: 60_000 }, async ({ lib, types }) => {
  writeFileSync(join(home, 'typed.ts'), TYPED)
  const typeRoots = [join(root, 'node_modules/@types')]
  const strict = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
  }
  const compilerOptions = { ...strict, lib, types, typeRoots, module: 'nodenext', target: 'es2022', noEmit: true }
  writeFileSync(join(home, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['typed.ts'] }))
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  const said = await run(process.execPath, [compiler, '-p', home]).catch((error: { stdout: string }) => error)
  expect(said.stdout).toBe('')
})

const PROGRAM = `
import { Hearth, HearthError } from '@hearth/sdk'
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
  writeFileSync(join(home, 'program.js'), PROGRAM)
  const { stdout } = await run(runtime.path, [...runtime.args, join(home, 'program.js')], {
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
