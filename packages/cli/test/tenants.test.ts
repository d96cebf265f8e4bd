import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { HearthCommand } from './hearth-command.ts'
import { ServerCommand } from './server-command.ts'

let command: ServerCommand
let hearth: HearthCommand
beforeAll(async () => {
  command = await ServerCommand.start()
  hearth = command.hearth
})
afterAll(async () => await command[Symbol.asyncDispose]())

describe('tenants and their quotas', () => {
  it('are made, shown, changed and removed', async () => {
    const made = await hearth.json<{ id: string }>(['tenant', 'create', 'research', '--sandboxes', '1', '--json'])
    expect(await hearth.output('tenant', 'ls')).toMatch(/^ID .*\n(.*\n)*tn_\S+ +research +\S+ +1 +200 +256\.0 GiB/m)
    expect(await hearth.output('tenant', 'quota', 'research', '--disk', '1G', '--cpus', '1.5')).toMatch(
      /^tenant research\nQUOTA +IN USE +LIMIT\nsandboxes +0 +1 +0%\ncpus +0 +1\.5 +0%\n/,
    )
    const seen = await hearth.json<object>(['tenant', 'quota', made.id, '--json'])
    expect(seen).toMatchObject({ limits: { sandboxes: 1, cpus: 1.5, diskBytes: 1024 ** 3 }, usage: { sandboxes: 0 } })
    const key = (await hearth.run(['key', 'create', 'first', '--tenant', 'research', '-q'])).stdout.trim()
    hearth.env['HEARTH_API_KEY'] = key
    expect(await hearth.output('quota')).toMatch(/^tenant research\n/)
    await hearth.json(['create', '--rung', 'simulated', '--disk', '64M', '--json'])
    const full = await hearth.failure('create', '--rung', 'simulated', '--disk', '64M')
    expect(full).toMatchObject({
      code: 'quota_exceeded',
      suggestion: expect.stringContaining('hearth tenant quota research --sandboxes'),
    })
    await hearth.output('rm', (await hearth.output('ls', '-q')).trim())
    hearth.env['HEARTH_API_KEY'] = ''
    const [kept] = await hearth.json<{ id: string }[]>(['key', 'ls', '--tenant', 'research', '--json'])
    await hearth.output('key', 'revoke', kept?.id ?? '', '--tenant', 'research')
    expect(await hearth.output('tenant', 'rm', 'research')).toBe(`${made.id}\n`)
    expect(await hearth.failure('tenant', 'rm', 'research')).toMatchObject({ code: 'not_found' })
  })
})
