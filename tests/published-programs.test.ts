import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Rung } from '@hearth/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ApiProcess } from './support/api-process.ts'

const ROOT = join(import.meta.dirname, '..')
const run = promisify(execFile)

let server: ApiProcess
beforeAll(async () => {
  server = await ApiProcess.start()
})
afterAll(async () => await server[Symbol.asyncDispose]())

/** Programs as they are published for another vendor: they import its package, have its key, and name its templates. */
describe.each(['process', 'gvisor'] satisfies Rung[])('programs written for another vendor, on %s', (rung) => {
  let environment: Record<string, string>
  beforeAll(async () => {
    // Their template has `python`, too; the tools of this machine are enough for the rest.
    const hearth = server.client()
    const env = { PATH: '/opt/python/bin:/usr/local/bin:/usr/bin:/bin' }
    await using made = await hearth.create({ rung, template: 'host', env })
    await made.exec('mkdir -p /opt/python/bin && ln -s /usr/bin/python3 /opt/python/bin/python', { user: 'root' })
    await made.snapshot({ name: `prepared-${rung}`, memory: 'none' })
    environment = {
      PATH: process.env['PATH'] ?? '',
      PYTHONDONTWRITEBYTECODE: '1',
      PYTHONPATH: [join(ROOT, 'sdk/python'), join(ROOT, 'sdk/python/shims')].join(':'),
      HEARTH_URL: server.url,
      PANDASTACK_TOKEN: server.key,
      HEARTH_TEMPLATES: `code-interpreter=@prepared-${rung},agent=@prepared-${rung}`,
    }
  })

  const program = async (name: string): Promise<string> => {
    const { stdout } = await run('python3', [join(import.meta.dirname, `programs/${name}.py`)], { env: environment })
    return stdout
  }
  const left = async (): Promise<string[]> => (await server.client().page()).items.map(({ id }) => id)

  test('one snippet in a block of its own', async () => {
    expect(await program('disposable')).toMatch(/^exit: 0\nhello from \S+\npython 3\n/)
    expect(await left()).toEqual([])
  })

  test('a loop over steps in one sandbox', async () => {
    const steps = (await program('agent_loop')).trim().split('\n')
    expect(steps[1]).toContain("'stdout': 'kept\\n'")
    expect(steps[2]).toContain("'exit_code': 3")
    expect(await left()).toEqual([])
  })

  test('a tool that runs code', async () => {
    expect((await program('run_code_tool')).trim().split('\n')).toEqual([
      '5050',
      '(no output)',
      expect.stringContaining('ZeroDivisionError'),
      '',
      '42',
    ])
    expect(await left()).toEqual([])
  })

  test('a search in forks', async () => {
    expect(await program('fork_search')).toBe('1/5 passed; base unchanged\n')
    expect(await left()).toEqual([])
  })

  test('one command in a sandbox that is left to its deadline', async () => {
    expect(await program('one_command')).toBe('4\n\n0\n')
    const [id = ''] = await left()
    const sandbox = await server.client().get(id)
    const end = sandbox.info.expiresAt.getTime() - Date.now()
    expect([end > 840_000, end <= 900_000]).toEqual([true, true])
    await sandbox.kill()
  })
})
