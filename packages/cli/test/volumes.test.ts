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

async function output(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await hearth.run(args)
  expect([code, stderr]).toEqual([0, ''])
  return stdout
}

async function failure(...args: string[]): Promise<{ code: string; suggestion: string }> {
  const { code, stderr } = await hearth.run([...args, '--json'])
  expect(code).toBe(1)
  return (JSON.parse(stderr) as { error: { code: string; suggestion: string } }).error
}

it('makes volumes that outlive sandboxes', async () => {
  const made = await hearth.json<{ id: string }>(['volume', 'create', 'data', '--disk', '64M', '--json'])
  expect(made).toMatchObject({ name: 'data', diskBytes: 64 * 1024 ** 2, lifetime: 'durable', sandbox: null })
  const first = await command.create('--volume', 'data:/data')
  await output('exec', first, '--', 'sh', '-c', 'echo kept > /data/file')
  expect(await output('volume', 'ls')).toMatch(
    new RegExp(`^ID +NAME +AGE +USED +LIMIT +SANDBOX +HOLDS\n${made.id} +data .* 64.0 MiB +${first} +-\n$`),
  )
  expect(await failure('volume', 'rm', 'data')).toMatchObject({ code: 'volume_in_use' })
  await output('rm', first)
  const second = await command.create('--volume', `${made.id}:/there:ro`)
  expect(await output('exec', second, '--', 'cat', '/there/file')).toBe('kept\n')
  expect((await hearth.run(['exec', second, '--', 'touch', '/there/file'])).code).toBe(1)
  await output('rm', second)
  expect(await output('volume', 'get', made.id.slice(-6))).toMatch(
    /^id +vol_\S+\nname +data\n[^]*of at most 64.0 MiB\n/,
  )
  expect(await output('volume', 'rm', 'data')).toBe(`${made.id}\n`)
  expect(await output('volume', 'ls', '-q')).toBe('')
})

it('says what is wrong with a volume', async () => {
  expect(await failure('volume', 'get', 'nothing')).toMatchObject({
    code: 'volume_not_found',
    suggestion: expect.stringContaining('hearth volume ls'),
  })
  expect(await failure('create', '--volume', 'nothing:/data')).toMatchObject({ code: 'volume_not_found' })
  expect(await failure('volume', 'create', 'UPPER')).toMatchObject({ code: 'invalid_request' })
  const wrong = await hearth.run(['create', '--volume', 'data'])
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('NAME:PATH')])
})
