import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { HearthCommand } from './hearth-command.ts'
import { ServerCommand } from './server-command.ts'

let command: ServerCommand
let hearth: HearthCommand
let id: string
let patch: string

beforeAll(async () => {
  command = await ServerCommand.start()
  hearth = command.hearth
  id = await command.create()
  await hearth.run(['exec', id, '--', 'sh', '-c', 'mkdir -p /tmp/app && echo helo > /tmp/app/greeting'])
  patch = join(hearth.home, 'right.patch')
  writeFileSync(patch, ['--- a/greeting', '+++ b/greeting', '@@ -1 +1 @@', '-helo', '+hello', ''].join('\n'))
})
afterAll(async () => await command[Symbol.asyncDispose]())

const judging = ['--workdir', '/tmp/app', '--target', 'grep -qx hello greeting', '--try', 'echo hallo > greeting']

describe('hearth search, with what a server has', () => {
  it('begins with a sandbox, and leaves it as it was', async () => {
    const { code, stdout, stderr } = await hearth.run(['search', patch, '--sandbox', id, ...judging, '-q'])
    expect([code, stdout, stderr]).toEqual([0, `${patch}\n`, ''])
    const { stdout: greeting } = await hearth.run(['exec', id, '--', 'cat', '/tmp/app/greeting'])
    expect(greeting).toBe('helo\n')
    const left = await hearth.json<{ id: string }[]>(['ls', '--json'])
    expect(left.map((sandbox) => sandbox.id)).toEqual([id])
  })

  it('begins with a snapshot', async () => {
    await hearth.json(['snapshot', 'create', id, '--name', 'prepared', '--json'])
    const { code, stdout, stderr } = await hearth.run(['search', patch, '--from', 'prepared', ...judging, '--json'])
    expect(stderr).toBe('')
    expect(JSON.parse(stdout)).toMatchObject({ winner: 0, candidates: [{ outcome: 'passed' }, { outcome: 'failed' }] })
    expect(code).toBe(0)
  })
})
