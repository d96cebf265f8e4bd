import { execFileSync } from 'node:child_process'
import { Sandbox } from '@e2b/code-interpreter'
import { Hearth as Engine } from '@hearth/engine'
import { afterAll, expect, test } from 'vitest'
import { E2bServer } from './support/e2b-server.ts'

/** The templates that E2B's clients have without naming one. Building that of the code interpreter takes minutes, so that one must be there. */

const server = await E2bServer.start()
afterAll(() => server[Symbol.asyncDispose]())

/** The templates of this user's home, when that of the code interpreter is among them. */
async function builtTemplates(): Promise<string | null> {
  await using engine = new Engine({ spareKeepers: 0 })
  const found = (await engine.templates.list()).find(({ name }) => name === 'code-interpreter')
  return (found?.digest ?? null) === null ? null : engine.paths.templates
}

test("the code interpreter's", { timeout: 240_000 }, async (task) => {
  const built = await builtTemplates()
  if (built === null) return task.skip('`hearth template build code-interpreter` makes what this runs on')
  execFileSync('cp', ['-al', built, `${server.home}/`])
  const sandbox = await Sandbox.create()
  expect((await sandbox.getInfo()).templateId).toBe('code-interpreter-v1')
  const cell = 'import matplotlib, pandas\npandas.DataFrame({"a": [1, 2]})'
  const [result] = (await sandbox.runCode(cell)).results
  expect(result?.data).toEqual({ a: [1, 2] })
  expect((await sandbox.runCode('[1, 2].length', { language: 'js' })).text).toBe('2')
  const programs = 'git --version && pip --version && python --version && python3 --version && test -d /workspace'
  expect((await sandbox.commands.run(programs)).exitCode).toBe(0)
  await sandbox.kill()
})

test('base', { timeout: 60_000 }, async () => {
  const sandbox = await Sandbox.create('base')
  expect((await sandbox.commands.run('sh -c "echo \\$((40 + 2))"; python3 -c "print(6 * 7)"')).stdout).toBe('42\n42\n')
  await sandbox.kill()
})
