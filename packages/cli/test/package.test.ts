import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../../..')

/** A project of somebody else, outside of this repository, with a home of its own. */
let project = ''
const env = (): NodeJS.ProcessEnv => ({
  ...process.env,
  PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter),
  HEARTH_HOME: join(project, 'home'),
  HEARTH_URL: '',
  HEARTH_API_KEY: '',
  NODE_PATH: '',
})

beforeAll(async () => {
  project = mkdtempSync(join(tmpdir(), 'hearth-package-'))
  await run(process.execPath, ['packages/cli/scripts/build.ts', join(project, 'built')], { cwd: root })
  const { stdout } = await run('npm', ['pack', '--json', join(project, 'built')], { cwd: project, env: env() })
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }]
  rmSync(join(project, 'built'), { recursive: true })
  writeFileSync(join(project, 'package.json'), '{"private": true, "type": "module"}')
  const install = ['install', '--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund', `./${filename}`]
  await run('npm', install, { cwd: project, env: env() })
}, 300_000)
afterAll(() => rmSync(project, { recursive: true, force: true }))

async function ends(program: string, ...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return await run(program, args, { cwd: project, env: env() }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  )
}

const EXAMPLE = `
import { Hearth, HearthError, type ErrorCode, type ExecResult, type Rung, type SandboxInfo } from 'hearth'

await using hearth = new Hearth()
await using sandbox = await hearth.create({ rung: 'process', limits: { memoryBytes: 256 * 1024 * 1024 } })
await sandbox.files.write('/tmp/data.csv', 'a,b\\n1,2\\n')
const { text } = await sandbox.runCode('sum(int(x) for x in open("/tmp/data.csv").readlines()[1].split(","))')
const result: ExecResult = await sandbox.exec('exit 3')
const info: SandboxInfo = sandbox.info
const rung: Rung = info.rung
const refused: ErrorCode = await hearth.create({ template: 'none-such' }).then(
  () => { throw new Error('it was not refused') },
  (error: unknown) => { if (HearthError.isInstance(error)) return error.code; throw error },
)
console.log(JSON.stringify({ text, exitCode: result.exitCode, rung, refused }))
`

it('is JavaScript with declarations, and needs nothing of the repository', () => {
  const installed = join(project, 'node_modules/hearth')
  const files = readdirSync(installed, { recursive: true, encoding: 'utf8' })
  expect(files.filter((name) => /(?<!\.d)\.ts$|\.(test|fixture)\./.test(name))).toEqual([])
  for (const name of files.filter((name) => /\.(js|d\.ts)$/.test(name))) {
    expect(readFileSync(join(installed, name), 'utf8'), name).not.toMatch(/^(?!\s*[*/]).*['"]@hearth\//m)
  }
  for (const name of ['bench', 'guest/Makefile', 'packages/testing'])
    expect(existsSync(join(installed, name))).toBe(false)
})

it('runs a sandbox from a program', async () => {
  writeFileSync(join(project, 'example.ts'), EXAMPLE)
  const { stdout, stderr } = await ends(process.execPath, 'example.ts')
  expect(stderr).toBe('')
  expect(JSON.parse(stdout)).toMatchObject({ text: '3', exitCode: 3, rung: 'process' })
})

it('has types that hold with strict options', async () => {
  writeFileSync(join(project, 'typed.ts'), EXAMPLE)
  writeFileSync(
    join(project, 'wrong.ts'),
    "import { Hearth } from 'hearth'\nvoid new Hearth().create({ rung: 'strongest' })\n",
  )
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const options = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--module', 'nodenext', '--target', 'es2024']
  expect(await ends(process.execPath, tsc, ...options, 'typed.ts')).toMatchObject({ code: 0, stdout: '' })
  expect((await ends(process.execPath, tsc, ...options, 'wrong.ts')).stdout).toContain('"strongest"')
})

it('has the command', async () => {
  const hearth = join(project, 'node_modules/.bin/hearth')
  expect((await ends(hearth, '--version')).stdout).toBe(`${version()}\n`)
  expect((await ends(hearth, '--help')).stdout).toMatch(/\bsetup\b/)
  expect(await ends(hearth, 'run', '--rung', 'process', '--', 'sh', '-c', 'echo out; exit 7')).toMatchObject({
    code: 7,
    stdout: 'out\n',
  })
  expect(await ends(hearth, 'bench')).toMatchObject({ code: 2 })
})

it('has the server', async () => {
  const hearth = join(project, 'node_modules/.bin/hearth')
  const { execPath } = process
  const script = `
    const { spawn, execFileSync } = await import('node:child_process')
    const up = spawn(process.argv[1], ['up', '--port', '0', '--dialect', 'none'], { stdio: ['ignore', 'pipe', 'inherit'] })
    for await (const text of up.stdout) if (String(text).includes('server.listening')) break
    const hearth = (...words) => execFileSync(process.argv[1], words, { encoding: 'utf8' }).trim()
    const id = hearth('create', '-q', '--rung', 'process')
    console.log(hearth('exec', id, '--', 'echo', 'over the server'))
    hearth('rm', id)
    up.kill('SIGTERM')
  `
  expect(await ends(execPath, '--input-type=module', '-e', script, hearth)).toMatchObject({
    code: 0,
    stdout: 'over the server\n',
  })
})

function version(): string {
  const { version } = JSON.parse(readFileSync(join(root, 'packages/cli/package.json'), 'utf8')) as { version: string }
  return version
}
