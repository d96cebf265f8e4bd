import { afterAll, beforeAll, expect, it } from 'vitest'
import type { HearthCommand } from './hearth-command.ts'
import { ServerCommand } from './server-command.ts'

let command: ServerCommand
let hearth: HearthCommand
beforeAll(async () => {
  command = await ServerCommand.start()
  hearth = command.hearth
})
afterAll(async () => await command[Symbol.asyncDispose]())

it('makes volumes that outlive sandboxes', async () => {
  const made = await hearth.json<{ id: string }>(['volume', 'create', 'data', '--disk', '64M', '--json'])
  expect(made).toMatchObject({ name: 'data', diskBytes: 64 * 1024 ** 2, lifetime: 'durable', sandbox: null })
  const first = await command.create('--volume', 'data:/data')
  await hearth.output('exec', first, '--', 'sh', '-c', 'echo kept > /data/file')
  expect(await hearth.output('volume', 'ls')).toMatch(
    new RegExp(`^ID +NAME +AGE +USED +LIMIT +SANDBOX +HOLDS\n${made.id} +data .* 64.0 MiB +${first} +-\n$`),
  )
  expect(await hearth.failure('volume', 'rm', 'data')).toMatchObject({ code: 'volume_in_use' })
  await hearth.output('rm', first)
  const second = await command.create('--volume', `${made.id}:/there:ro`)
  expect(await hearth.output('exec', second, '--', 'cat', '/there/file')).toBe('kept\n')
  expect((await hearth.run(['exec', second, '--', 'touch', '/there/file'])).code).toBe(1)
  await hearth.output('rm', second)
  expect(await hearth.output('volume', 'get', made.id.slice(-6))).toMatch(
    /^id +vol_\S+\nname +data\n[^]*of at most 64.0 MiB\n/,
  )
  expect(await hearth.output('volume', 'rm', 'data')).toBe(`${made.id}\n`)
  expect(await hearth.output('volume', 'ls', '-q')).toBe('')
})

it('says what is wrong with a volume', async () => {
  expect(await hearth.failure('volume', 'get', 'nothing')).toMatchObject({
    code: 'volume_not_found',
    suggestion: expect.stringContaining('hearth volume ls'),
  })
  expect(await hearth.failure('create', '--volume', 'nothing:/data')).toMatchObject({ code: 'volume_not_found' })
  expect(await hearth.failure('volume', 'create', 'UPPER')).toMatchObject({ code: 'invalid_request' })
  const wrong = await hearth.run(['create', '--volume', 'data'])
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('NAME:PATH')])
})
