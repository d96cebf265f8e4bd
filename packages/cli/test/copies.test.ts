import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Hearth } from '@hearth/sdk'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { HearthCommand } from './hearth-command.ts'
import { ServerCommand } from './server-command.ts'

let command: ServerCommand
let hearth: HearthCommand
let id: string
/** For what is not tested here: a command of its own for each step would take long. */
let client: Hearth
beforeAll(async () => {
  command = await ServerCommand.start()
  hearth = command.hearth
  const apiKey = (await readFile(join(hearth.home, 'key'), 'utf8')).trim()
  client = new Hearth({ url: command.server.url, apiKey })
  id = (await client.create({ rung: 'process', metadata: { job: 'fork' } })).id
  await inside(id, 'mkdir /tmp/work; echo base > /tmp/work/shared; echo old > /tmp/work/old')
})
afterAll(async () => await command[Symbol.asyncDispose]())

async function inside(sandbox: string, script: string): Promise<string> {
  const { exitCode, stdout, stderr } = await (await client.get(sandbox)).exec(['sh', '-c', script])
  if (exitCode !== 0) throw new Error(stderr)
  return stdout
}

async function remove(...sandboxes: string[]): Promise<void> {
  for (const sandbox of sandboxes) await (await client.get(sandbox)).kill()
}

async function lines(...args: string[]): Promise<string[]> {
  const { stdout, stderr } = await hearth.run(args)
  expect(stderr).toBe('')
  return stdout.split('\n').filter((line) => line !== '')
}

async function line(...args: string[]): Promise<string> {
  const [only = ''] = await lines(...args)
  return only
}

describe('fork, diff, merge and tree', () => {
  it('tries in two copies and takes one back', async () => {
    const forked = await hearth.json<{ children: { id: string }[] }>([
      'fork',
      id.slice(-6),
      '-n',
      '2',
      '--json',
      '--env',
      'TRY=1',
      '--meta',
      'try=yes',
      '--ttl',
      '5m',
      '--memory',
      'none',
    ])
    expect(forked).toMatchObject({
      memory: false,
      reason: expect.any(String),
      pausedMs: expect.any(Number),
      children: [1, 2].map(() => ({ parent: id, state: 'running', metadata: { job: 'fork', try: 'yes' } })),
    })
    const [left = '', right = ''] = forked.children.map((child) => child.id)
    expect(await lines('diff', left, '--path', '/tmp/work')).toEqual([])
    await inside(left, 'cd /tmp/work; rm old; mkdir new; printf %1536s > new/file; echo $TRY > shared')
    const work = ['--path', '/tmp/work']
    expect(await lines('diff', left, ...work)).toEqual([
      'A          - /tmp/work/new/',
      'A    1.5 KiB /tmp/work/new/file',
      expect.stringMatching(/^D +\S+ B \/tmp\/work\/old$/),
      'M        2 B /tmp/work/shared',
    ])
    expect(await lines('diff', left, '-q', '--path', '/tmp/work/new', '--path', '/tmp/work/old')).toHaveLength(3)
    expect(await hearth.json(['diff', left, '--json', '--path', '/tmp/work/shared'])).toEqual([
      { path: '/tmp/work/shared', change: 'changed', type: 'file', sizeBytes: 2 },
    ])
    expect(await lines('diff', left, '--since', 'template', ...work)).toContain('A        2 B /tmp/work/shared')
    await inside(
      left,
      'cd /tmp/work; rm new/file; printf "\\033\\tx\\ny" > new/text; printf "a\\0b" > new/data; printf %3000s > new/large',
    )
    expect(await lines('diff', left, '--content', '1K', ...work)).toEqual([
      'A          - /tmp/work/new/',
      'A        3 B /tmp/work/new/data',
      '  (not text)',
      'A    2.9 KiB /tmp/work/new/large',
      '  (larger than what was asked for)',
      'A        5 B /tmp/work/new/text',
      '  | \\u001b\tx',
      '  | y',
      expect.stringMatching(/^D .* \/tmp\/work\/old$/),
      'M        2 B /tmp/work/shared',
      '  | 1',
    ])
    expect(await hearth.json(['diff', left, '--json', '--content', '--path', '/tmp/work/shared'])).toMatchObject([
      { path: '/tmp/work/shared', content: Buffer.from('1\n').toString('base64') },
    ])
    await inside(left, 'cd /tmp/work/new; rm data large text; touch file')

    expect(await lines('merge', id, left.slice(-6), ...work)).toHaveLength(4)
    expect(await inside(id, 'cd /tmp/work; cat shared; ls')).toBe('1\nnew\nshared\n')

    await inside(right, 'echo other > /tmp/work/shared')
    const conflict = await hearth.run(['merge', id, right, ...work])
    expect(conflict).toMatchObject({ code: 1, stdout: expect.stringMatching(/^C \/tmp\/work\/shared: .+\n$/) })
    expect(conflict.stderr).toMatch(/nothing was merged: 1 conflict\n.*--path/)
    const told = await hearth.run(['merge', id, right, '--json', ...work])
    expect(JSON.parse(told.stdout)).toMatchObject({ applied: [], conflicts: [{ path: '/tmp/work/shared' }] })
    expect(JSON.parse(told.stderr)).toMatchObject({ error: { code: 'conflict' } })
    await remove(left, right)
  })

  it('says what became of processes, and draws the family', async () => {
    const plain = await hearth.run(['fork', id])
    expect(plain.stdout).toMatch(/^ID +STATE .*\nsb_\S+ +running +process /)
    expect(plain.stderr).toMatch(/^Files alone, no processes: .+ stood still for \d+ ms\.\n$/)
    const [child = ''] = /sb_\S+/.exec(plain.stdout) ?? []
    expect((await hearth.run(['get', child])).stdout).toMatch(/^captured +files alone, no processes: /m)
    const grandchild = await line('fork', child, '-q')
    const other = (await client.create({ rung: 'process' })).id
    const drawn = await lines('tree', grandchild)
    expect(drawn).toEqual([
      expect.stringMatching(/^ID/),
      expect.stringMatching(new RegExp(`^${id}  `)),
      expect.stringMatching(new RegExp(`^└─ ${child}`)),
      expect.stringMatching(new RegExp(`^   └─ ${grandchild}`)),
    ])
    await remove(child)
    expect(await lines('tree', '-q')).toEqual([id, child, grandchild, other])
    expect(await hearth.json(['tree', '--json', id])).toMatchObject([
      { id, parent: null, state: 'running' },
      { id: child, parent: id, state: 'deleted' },
      { id: grandchild, parent: child },
    ])
    expect(await hearth.failure('merge', id, other)).toMatchObject({ suggestion: expect.stringMatching(/./) })
    expect(await hearth.failure('fork', id, '--memory', 'required')).toMatchObject({ code: 'memory_unsupported' })
    expect((await hearth.run(['fork', id, '--memory', 'some'])).code).toBe(2)
    expect((await hearth.run(['fork', id, '-n', '0'])).code).toBe(2)
    await remove(grandchild, other)
  })
})

describe('snapshots', () => {
  it('are made, found, compared with, and made sandboxes of', async () => {
    const made = await hearth.json<{ id: string }>([
      'snapshot',
      'create',
      id,
      '--name',
      'prepared',
      '--meta',
      'kind=base',
      '--json',
    ])
    expect(made).toMatchObject({ name: 'prepared', sandbox: id, rung: 'process', memory: false })
    const second = await line('snapshot', 'create', id, '-q')
    expect(await lines('snapshot', 'ls', '-q')).toEqual([second, made.id])
    expect((await hearth.run(['snapshot', 'ls'])).stdout).toMatch(
      /^ID +NAME .*\nsn_\S+ +- .*\nsn_\S+ +prepared .* kind=base$/m,
    )
    for (const name of [made.id, made.id.slice(-6)]) {
      expect(await lines('snapshot', 'get', '-q', name)).toEqual([made.id])
    }
    expect((await hearth.run(['snapshot', 'get', 'prepared'])).stdout).toMatch(/^name +prepared\n.*^processes +none/ms)
    expect(await hearth.failure('snapshot', 'get', 'nothing')).toMatchObject({ code: 'snapshot_not_found' })
    expect(await hearth.failure('snapshot', 'get', made.id.slice(0, 7))).toMatchObject({ code: 'invalid_request' })

    await inside(id, 'echo later > /tmp/later')
    expect(await lines('diff', id, '-q', '--since', 'prepared', '--path', '/tmp/later')).toEqual(['/tmp/later'])
    expect(await hearth.failure('snapshot', 'create', id, '--name', 'prepared')).toMatchObject({
      code: 'conflict',
      suggestion: expect.stringContaining('hearth snapshot rm prepared'),
    })
    const required = await hearth.failure('create', '--from', 'prepared', '--memory', 'required')
    expect(required).toMatchObject({ code: 'memory_unsupported' })
    expect((await hearth.run(['create', '--from', 'prepared', '--memory', 'some'])).code).toBe(2)
    const plain = await hearth.run(['create', '--from', 'prepared'])
    expect(plain.stderr).toMatch(/^From the snapshot: files alone, no processes: .+ has files only\.$/m)
    await remove(/sb_\S+/.exec(plain.stdout)?.[0] ?? '')
    const copy = await line('create', '-q', '--from', 'prepared', '--memory', 'none', '--memory', '128M')
    expect(await hearth.json(['get', copy, '--json'])).toMatchObject({
      origin: made.id,
      parent: null,
      limits: { memoryBytes: 128 * 1024 ** 2 },
    })
    expect(await inside(copy, 'ls /tmp/work')).toContain('shared')
    expect(await hearth.failure('snapshot', 'rm', 'prepared')).toMatchObject({ code: 'snapshot_in_use' })
    await remove(copy)
    const removed = await hearth.run(['snapshot', 'rm', 'nothing', 'prepared', second])
    expect(removed).toMatchObject({ code: 1, stdout: `${made.id}\n${second}\n` })
    expect(removed.stderr).toMatch(/there is no snapshot "nothing"\n.*snapshot ls/)
  })

  it('go to another host in one file', async () => {
    await inside(id, 'head -c 4000000 /dev/urandom > /tmp/big')
    await (await client.get(id)).snapshot({ name: 'out' })
    const file = join(hearth.home, 'files', 'out.snapshot')
    const told = await hearth.json<{ bytes: number }>(['snapshot', 'export', 'out', file, '--json'])
    expect(told).toMatchObject({ snapshot: expect.stringMatching(/^sn_/), file })
    expect(await stat(file)).toMatchObject({ size: told.bytes, mode: 0o100600 })
    const piped = await hearth.run(['snapshot', 'export', 'out', '-'])
    expect(piped.bytes).toHaveLength(told.bytes)
    expect(await hearth.failure('snapshot', 'export', 'out', file, '--max-size', '0.01K')).toMatchObject({
      code: 'file_failed',
    })
    expect(await readdir(join(hearth.home, 'files'))).toEqual(['out.snapshot'])

    expect(await hearth.json(['snapshot', 'import', file, '--name', 'in', '--json'])).toMatchObject({ name: 'in' })
    expect((await hearth.run(['snapshot', 'import', '-', '-q'], piped.bytes)).stdout).toMatch(/^sn_\S+\n$/)
    const half = piped.bytes.subarray(0, piped.bytes.length / 2)
    const { child, finished } = hearth.start(['snapshot', 'import', '-', '--name', 'half'])
    // More than the pipe holds: it has been read, so that the import is under way.
    await new Promise((resolve) => child.stdin?.write(half, resolve))
    child.kill('SIGINT')
    expect(await finished).toMatchObject({ code: 130, stdout: '' })
    expect((await client.snapshots.list()).map(({ name }) => name)).toEqual(['out', 'in', null])

    const copy = (await client.create({ from: 'in' })).id
    expect(await inside(copy, 'ls /tmp/work')).toContain('shared')
    await writeFile(file, half)
    expect(await hearth.failure('snapshot', 'import', file)).toMatchObject({ code: 'snapshot_corrupt' })
    expect(await hearth.failure('snapshot', 'import', hearth.home)).toMatchObject({ code: 'is_a_directory' })
    await remove(copy)
    await hearth.run(['snapshot', 'rm', ...(await lines('snapshot', 'ls', '-q'))])
    expect(await hearth.json(['snapshot', 'ls', '--json'])).toEqual([])
  })
})
