import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { PolicyView, RecordVerdict } from '@hearth/sdk'
import type { HearthCommand } from './hearth-command.ts'
import { ServerCommand } from './server-command.ts'

let command: ServerCommand
let hearth: HearthCommand
beforeAll(async () => {
  command = await ServerCommand.start()
  hearth = command.hearth
})
afterAll(async () => await command[Symbol.asyncDispose]())

const VALUE = 'a value that nobody sees'

describe('secrets and policies', () => {
  it('are given at the create, shown, and changed while it runs', async () => {
    const set = await hearth.run(
      [
        'secret',
        'set',
        'API_KEY',
        '--for',
        'api.example.com',
        '--header',
        'Authorization',
        '--method',
        'GET',
        '--path',
        '/v1/**',
      ],
      `${VALUE}\n`,
    )
    expect(set).toMatchObject({ code: 0, stdout: 'API_KEY\n' })
    const { stdout } = await hearth.run(['secret', 'ls'])
    expect(stdout).toMatch(/NAME.*\nAPI_KEY +api\.example\.com +header authorization +GET \/v1\/\*\*/)
    const file = join(hearth.home, 'policy.json')
    writeFileSync(file, JSON.stringify({ deny: ['evil.example.com'], allow: ['one.example.com'] }))
    const id = await command.create(
      '--secret',
      'API_KEY=KEY',
      '--allow',
      'api.example.com:8443',
      '--preset',
      'npm',
      '--policy',
      file,
    )
    const shown = await hearth.json<PolicyView>(['policy', 'show', id, '--json'])
    expect(shown.effective.allow.map(({ name, ports }) => [name, ports])).toEqual([
      ['one.example.com', [443, 80]],
      ['api.example.com', [8443]],
      [expect.stringContaining('npm'), [443]],
    ])
    expect(shown.secrets).toEqual([{ secret: 'API_KEY', env: 'KEY' }])
    // A fork may what its parent may, unless it is told otherwise.
    const [same, less] = await Promise.all(
      [[], ['--allow', 'two.example.com', '--preset', 'pypi']].map(async (options) => {
        const forked = await hearth.json<{ children: { id: string }[] }>(['fork', id, ...options, '--json'])
        return await hearth.json<PolicyView>(['policy', 'show', forked.children[0]?.id ?? '', '--json'])
      }),
    )
    expect(same?.effective).toEqual(shown.effective)
    expect(less?.effective.allow[0]).toMatchObject({ name: 'two.example.com' })
    expect(JSON.stringify(less?.effective)).toContain('pypi')
    expect(JSON.stringify(less?.effective)).not.toContain('npm')
    // The sandbox has something of the same length in its variable, and not the value.
    const inside = await hearth.run(['exec', id, '--', 'printenv', 'KEY'])
    expect(inside.stdout.trim().length).toBe(VALUE.length)
    expect(inside.stdout).not.toContain(VALUE)
    // What is shown is a policy itself.
    const again = join(hearth.home, 'again.json')
    const printed = await hearth.run(['policy', 'show', id])
    expect(printed.stderr).toBe('it uses the secret API_KEY\n')
    writeFileSync(again, printed.stdout)
    const unchanged = await hearth.json<PolicyView>(['policy', 'set', id, '--policy', again, '--json'])
    expect(unchanged.effective).toEqual(shown.effective)
    const changed = await hearth.json<PolicyView>(['policy', 'set', id, '--allow', 'two.example.com', '--json'])
    expect(changed.effective).toMatchObject({ allow: [{ name: 'two.example.com' }], deny: [] })
    expect((await hearth.run(['policy', 'show', '--preset', 'npm'])).stdout).toContain('"ports": [')
    expect((await hearth.run(['secret', 'rm', 'API_KEY'])).stdout).toBe('API_KEY\n')
  })

  it.each([
    [['secret', 'set', 'X', '--for', 'a.test'], 'one place'],
    [['secret', 'set', 'X', '--for', 'a.test', '--basic', '--aws'], 'one place'],
    [['secret', 'rm', 'NONE'], 'no secret NONE'],
    [['policy', 'show'], 'either a sandbox or a preset'],
    [['create', '--policy', '/dev/null'], 'no JSON'],
    [['create', '--rung', 'process', '--secret', 'NONE'], 'no secret NONE'],
    [['events', '--export', '/tmp/x'], 'needs a sandbox'],
  ])('%j is refused: %s', async (words, message) => {
    const { code, stderr } = await hearth.run(words, VALUE)
    expect(code).not.toBe(0)
    expect(stderr).toContain(message)
  })
})

describe('the record', () => {
  it('is exported, verified here and by the server, and no change of it passes', { timeout: 60_000 }, async () => {
    const id = await command.create()
    for (const word of ['one', 'two']) await hearth.run(['exec', id, '--step', word, '--', 'echo', word])
    await hearth.run(['rm', id])
    expect(await hearth.json<RecordVerdict>(['events', 'verify', id, '--json'])).toMatchObject({ valid: true })
    const file = join(hearth.home, 'run.jsonl')
    expect((await hearth.run(['events', id, '--export', file])).code).toBe(0)
    const whole = await hearth.run(['events', 'verify', '--file', file])
    expect(whole).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^whole\n\d+ entries\nhead \w+\nsigned with \w+\n$/),
    })
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
    expect(lines.join('')).toContain('"step":"two"')
    const tampered: Record<string, string[]> = {
      edited: lines.map((line) => line.replace('"two"', '"2"')),
      shortened: lines.toSpliced(3, 1),
      'in another order': [lines[0], lines[2], lines[1], ...lines.slice(3)].map((line) => line ?? ''),
      'without its end': lines.slice(0, -1),
      'with less before its head': lines.toSpliced(-2, 1),
      'with something before its first': lines.toSpliced(
        1,
        0,
        JSON.stringify({ ...(JSON.parse(lines[1] ?? '') as object), seq: 0.5, hash: null, type: 'command.started' }),
      ),
      'with another signature': [
        ...lines.slice(0, -1),
        (lines.at(-1) ?? '').replace(/"signature":"../, '"signature":"AA'),
      ],
    }
    const codes = Object.entries(tampered).map(async ([what, changed], index) => {
      const path = `${file}.${index}`
      writeFileSync(path, `${changed.join('\n')}\n`)
      return [what, (await hearth.run(['events', 'verify', '--file', path, '-q'])).code === 0]
    })
    expect(await Promise.all(codes)).toEqual(Object.keys(tampered).map((what) => [what, false]))
    expect((await hearth.run(['events', 'verify', '--file', file, '--public-key', '0'.repeat(64)])).code).toBe(1)
  })

  it('teaches a policy', async () => {
    const id = await command.create('--allow', 'unused.example.com')
    expect(await hearth.json(['policy', 'learn', id])).toEqual({ allow: [] })
    expect(await hearth.json(['policy', 'learn', id, '--json'])).toEqual({ policy: { allow: [] }, notes: [] })
  })
})
