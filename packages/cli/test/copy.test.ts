import { execFileSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readFile, readdir, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { HearthCommand } from './hearth-command.ts'
import { ServerCommand } from './server-command.ts'

let command: ServerCommand
let hearth: HearthCommand
let id: string
let here: string
beforeAll(async () => {
  command = await ServerCommand.start()
  hearth = command.hearth
  id = await command.create()
  here = await mkdtemp(join(tmpdir(), 'hearth-copy-'))
  await mkdir(join(here, 'tree/inner'), { recursive: true })
  await writeFile(join(here, 'tree/program'), '#!/bin/sh\n')
  await chmod(join(here, 'tree/program'), 0o755)
  await writeFile(join(here, 'tree/inner/large ü'), Buffer.alloc(300_000, 7))
  await symlink('program', join(here, 'tree/link'))
})
afterAll(async () => {
  await command[Symbol.asyncDispose]()
  await rm(here, { recursive: true, force: true })
})

const cp = async (...args: string[]) => await hearth.run(['cp', ...args])
const inside = async (text: string) => (await hearth.run(['exec', id, '--', 'sh', '-c', text])).stdout

it('files, both ways, with their mode', async () => {
  const file = join(here, 'tree/program')
  expect(await cp(file, `${id}:/tmp/`)).toMatchObject({ code: 0, stdout: '', stderr: '' })
  expect(await inside('stat -c %a /tmp/program; cat /tmp/program')).toBe('755\n#!/bin/sh\n')
  await cp(`${id}:/tmp/program`, join(here, 'back'))
  expect((await stat(join(here, 'back'))).mode & 0o777).toBe(0o755)
  const json = await hearth.json(['cp', '--json', `${id}:/tmp/program`, join(here, 'back')])
  expect(json).toMatchObject({ to: join(here, 'back'), entries: 1, bytes: 10, leftOut: [] })
})

it('directories, both ways: into one that is there, or as the target', async () => {
  expect((await cp(join(here, 'tree'), `${id}:/tmp/copy`)).code).toBe(0)
  expect((await cp(join(here, 'tree'), `${id}:/tmp/copy`)).code).toBe(0)
  expect(await inside('cd /tmp/copy; ls; cat link; stat -c %s tree/inner/*')).toBe(
    'inner\nlink\nprogram\ntree\n#!/bin/sh\n300000\n',
  )
  expect((await cp(`${id}:/tmp/copy/tree`, join(here, 'out'))).code).toBe(0)
  expect((await readdir(join(here, 'out'), { recursive: true })).toSorted()).toEqual(
    (await readdir(join(here, 'tree'), { recursive: true })).toSorted(),
  )
  expect(await readlink(join(here, 'out/link'))).toBe('program')
  expect((await readFile(join(here, 'out/inner/large ü'))).equals(Buffer.alloc(300_000, 7))).toBe(true)
  await mkdir(join(here, 'flat'))
  await cp(`${id}:/tmp/copy/tree/.`, join(here, 'flat'))
  expect((await readdir(join(here, 'flat'))).toSorted()).toEqual(['inner', 'link', 'program'])
})

it('standard input and output, as bytes or as an archive', async () => {
  await hearth.run(['cp', '-', `${id}:/tmp/note`], 'from a pipe')
  expect((await cp(`${id}:/tmp/note`, '-')).stdout).toBe('from a pipe')
  const archive = execFileSync('tar', ['-c', '-C', here, 'tree'])
  await hearth.run(['cp', '-', `${id}:/tmp/unpacked/`], archive)
  expect(await inside('ls /tmp/unpacked/tree')).toBe('inner\nlink\nprogram\n')
  const packed = (await cp(`${id}:/tmp/unpacked`, '-')).bytes
  expect(execFileSync('tar', ['-t'], { input: packed }).toString()).toContain('tree/inner/')
})

it('from one sandbox to another', async () => {
  const other = await command.create()
  await inside('mkdir -p /tmp/give && echo given > /tmp/give/it')
  expect((await cp(`${id}:/tmp/give`, `${other}:/tmp/`)).code).toBe(0)
  expect((await hearth.run(['exec', other, 'cat', '/tmp/give/it'])).stdout).toBe('given\n')
  await hearth.run(['rm', other])
})

it('what a sandbox makes stays in the directory', async () => {
  await inside(
    'mkdir -p /tmp/evil/real; cd /tmp/evil; ln -s /etc/passwd out; ln -s ../../x up; ln -s real fine; mkfifo pipe; echo a > a; chmod 6755 a',
  )
  const result = await cp(`${id}:/tmp/evil`, join(here, 'evil'))
  expect(result.code).toBe(0)
  expect((await readdir(join(here, 'evil'))).toSorted()).toEqual(['a', 'fine', 'real'])
  expect(result.stderr).toMatch(/left out out: its link to "\/etc\/passwd" leads out/)
  expect((await stat(join(here, 'evil/a'))).mode & 0o7777).toBe(0o755)
  // A link that was here before is not followed either.
  await rm(join(here, 'evil/real'), { recursive: true })
  await symlink(tmpdir(), join(here, 'evil/real'))
  await inside('echo b > /tmp/evil/real/b')
  const again = await cp(`${id}:/tmp/evil/.`, join(here, 'evil'))
  expect(again.code).toBe(1)
  expect(again.stderr).toMatch(/leads through a link|something else than a directory/)
})

it('no more than is allowed', async () => {
  await inside('truncate -s 3M /tmp/sparse; mkdir -p /tmp/many; truncate -s 3M /tmp/many/sparse')
  for (const path of ['/tmp/sparse', '/tmp/many']) {
    const result = await cp('--max-size', '1M', `${id}:${path}`, join(here, 'bounded'))
    expect(result.code).toBe(1)
    expect(result.stderr).toMatch(/more than 1048576 bytes/)
  }
})

it.each([
  [['a', 'b'], 1, /neither side of the copy is a sandbox/],
  [['/no/such/file', 'ID:/tmp/'], 1, /\/no\/such\/file: there is no such file/],
  [['ID:/no/such', '/tmp/x'], 1, /No such file/],
  [['ID:relative', '/tmp/x'], 1, /must be absolute/],
  [['ID:/etc', '/dev/null'], 1, /is not a directory/],
  [['ID:/dev/null', '-'], 1, /is a device/],
  [['ID:/etc/passwd', '-', '--json'], 1, /--json and - exclude each other/],
  [['ID:/etc'], 2, /missing required argument 'to'/],
])('refuses %j', async (args, code, message) => {
  const result = await cp(...args.map((word) => word.replace('ID', id)))
  expect(result).toMatchObject({ code, stdout: '' })
  expect(result.stderr).toMatch(message)
})
