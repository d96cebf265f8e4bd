import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SUITES } from '../../../bench/main.ts'
import { BINARY, said, type HearthCommand } from './hearth-command.ts'
import { ServerCommand } from './server-command.ts'
import { typeInto } from './terminal-session.ts'

let command: ServerCommand
let hearth: HearthCommand
let id: string
beforeAll(async () => {
  command = await ServerCommand.start()
  hearth = command.hearth
  id = await command.create()
})
afterAll(async () => await command[Symbol.asyncDispose]())

/** As a browser would, whose resolver knows that names below localhost are this machine. */
async function openLink(link: string): Promise<string> {
  const { host, search } = new URL(link)
  const { hostname, port } = new URL(command.server.url)
  return await new Promise((resolve, reject) => {
    get({ hostname, port, path: `/${search}`, headers: { host } }, (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (piece: string) => (text += piece))
      answer.on('end', () => resolve(text)).on('error', reject)
    }).on('error', reject)
  })
}

describe('port', () => {
  const page = 'answer from inside'
  beforeAll(async () => {
    await hearth.run(['exec', id, '--', 'sh', '-c', `mkdir -p /tmp/www; printf '${page}' > /tmp/www/index.html`])
    await hearth.run(['exec', id, '-d', '--workdir', '/tmp/www', '--', 'python3', '-m', 'http.server', '8000'])
  })

  it('gives an address for programs and one for a browser', async () => {
    const found = await hearth.json<{ url: string; link: string }>(['port', id, '8000', '--json', '--wait', '20s'])
    expect(found).toMatchObject({ sandbox: id, port: 8000, expiresAt: expect.any(String) })
    expect(await openLink(found.link)).toBe(page)
    expect((await hearth.run(['port', id, '8000', '-q'])).stdout).toMatch(/^http:\/\/8000-sb-\S+\n$/)
    expect((await hearth.run(['port', id, '8000'])).stdout).toMatch(/^link .*\nurl .*\nlocal .*8000:8000\n$/)
  })

  it('makes it a port of this machine until it is interrupted', async () => {
    const { child, finished } = hearth.start(['port', id, '8000:0', '-q'])
    let address = ''
    child.stdout?.on('data', (data: Buffer) => (address += data.toString()))
    await said(child, '\n')
    for (let round = 0; round < 2; round++) {
      expect(await (await fetch(`http://${address.trim()}/`)).text()).toBe(page)
    }
    child.kill('SIGINT')
    expect((await finished).code).toBe(0)
  })

  it('says that nothing listens', async () => {
    expect((await hearth.run(['port', id, '9', '--wait', '100ms'])).stderr).toMatch(/nothing listens on port 9/)
    expect((await hearth.run(['port', id, 'http'])).code).toBe(2)
  })
})

describe('events', () => {
  it('what happened, and what happens', async () => {
    const { child, finished } = hearth.start(['events', '-f', '--json', '--after', '0', id])
    await said(child, 'sandbox.running')
    await Promise.all([said(child, 'sandbox.paused'), hearth.run(['pause', id])])
    child.kill('SIGINT')
    const { code, stdout } = await finished
    expect(code).toBe(130)
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { sandbox: string; type: string })
    const lifecycle = lines.map(({ type }) => type).filter((type) => type.startsWith('sandbox.'))
    expect(lifecycle).toEqual(['sandbox.created', 'sandbox.running', 'sandbox.paused'])
    expect(lines).toContainEqual(expect.objectContaining({ sandbox: id, type: 'command.started' }))
    const page = await hearth.json<{ type: string }[]>(['events', '--json', '--limit', '1'])
    expect(page.map(({ type }) => type)).toEqual(['sandbox.paused'])
    expect((await hearth.run(['events'])).stdout).toMatch(/^SEQ +TIME +SANDBOX +EVENT +DATA\n/)
  })

  it('end when nobody reads them any more, also while nothing happens', async () => {
    const { finished } = hearth.start(['-o', 'pipefail', '-c', `'${BINARY}' events -f | head -c 0`], 'bash')
    expect(await finished).toMatchObject({ code: 141, stderr: '' })
  })
})

describe('keys', () => {
  it('are made, may what they may, and are revoked', async () => {
    const args = ['key', 'create', 'reader', '--scope', 'sandbox:read', '--expires', '1h', '--json']
    const made = await hearth.json<{ id: string; key: string }>(args)
    expect(made).toMatchObject({ name: 'reader', scopes: ['sandbox:read'], key: expect.stringMatching(/^hearth_/) })
    hearth.env['HEARTH_API_KEY'] = made.key
    try {
      expect((await hearth.run(['ls', '-q'])).stdout).toBe(`${id}\n`)
      expect(await hearth.run(['create'])).toMatchObject({ code: 1, stderr: expect.stringMatching(/sandbox:write/) })
    } finally {
      hearth.env['HEARTH_API_KEY'] = ''
    }
    expect((await hearth.run(['key', 'ls', '-q'])).stdout).toContain(`${made.id}\n`)
    expect((await hearth.run(['key', 'revoke', made.id])).stdout).toBe(`${made.id}\n`)
    expect((await hearth.run(['key', 'ls'])).stdout).toMatch(new RegExp(`^${made.id} +reader .* revoked `, 'm'))
    const plain = await hearth.run(['key', 'create', 'other', '-q'])
    expect(plain.stdout).toMatch(/^hearth_\S+\n$/)
  })

  it('refuses what is none', async () => {
    expect((await hearth.run(['key', 'create', 'x', '--scope', 'nothing'])).code).toBe(1)
    expect((await hearth.run(['key', 'revoke', 'key_00000000000000000000'])).stderr).toMatch(/no such key/)
    expect((await hearth.run(['key'])).code).toBe(2)
  })

  it('gives a sandbox one of its own, as JSON or a file of it', async () => {
    const file = join(command.hearth.home, 'grant.json')
    writeFileSync(file, '{"children": 1}')
    for (const grant of ['{"children": 1}', file]) {
      const own = await command.create('--delegate', grant)
      const call = 'curl -s -H "authorization: Bearer $HEARTH_API_KEY" $HEARTH_URL/v1/sandboxes'
      const inside = await hearth.run(['exec', own, '--', 'sh', '-c', call])
      expect(JSON.parse(inside.stdout)).toEqual({ items: [], next: null })
      await hearth.run(['rm', own])
    }
    const refused = await hearth.run(['create', '--json', '--delegate', '{"children": 1e9}'])
    expect(JSON.parse(refused.stderr)).toMatchObject({ error: { code: 'invalid_request' } })
    const unreadable = await hearth.run(['create', '--json', '--delegate', '{'])
    expect(JSON.parse(unreadable.stderr)).toMatchObject({ error: { code: 'invalid_request' } })
  })
})

describe('completion', () => {
  it('offers every suite of the benchmarks', async () => {
    const { stdout } = await hearth.run(['completion', 'fish'])
    const offered = stdout
      .split('\n')
      .find((line) => line.includes('seen_subcommand_from bench') && line.includes('gateway-load'))
    for (const suite of Object.keys(SUITES)) expect(offered).toMatch(new RegExp(`\\b${suite}\\b`))
  })

  it('is a script that bash reads and that knows commands, options and ids', async () => {
    const { code, stdout } = await hearth.run(['completion', 'bash'])
    expect(code).toBe(0)
    execFileSync('bash', ['-n'], { input: stdout })
    const complete = (...words: string[]): string[] => {
      const line = `hearth() { echo sb_listed; }; COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _hearth; printf '%s\\n' "\${COMPREPLY[@]}"`
      return execFileSync('bash', ['-c', `${stdout}\n${line}`])
        .toString()
        .trim()
        .split('\n')
    }
    expect(complete('hearth', 'cr')).toEqual(['create'])
    expect(complete('hearth', 'exec', '--int')).toEqual(['--interactive'])
    expect(complete('hearth', 'exec', 'sb_')).toEqual(['sb_listed'])
    expect(complete('hearth', 'key', 'cr')).toEqual(['create'])
    expect(complete('hearth', 'key', 'create', '--exp')).toEqual(['--expires'])
    expect(complete('hearth', 'snapshot', 'exp')).toEqual(['export'])
    expect(complete('hearth', 'snapshot', 'get', 'sb_')).toEqual(['sb_listed'])
    expect(complete('hearth', 'create', '--from', 'sb_')).toEqual(['sb_listed'])
    expect(complete('hearth', 'store', 'gc', '--js')).toEqual(['--json'])
    expect(complete('hearth', 'create', '--rung', 'gv')).toEqual(['gvisor'])
  })

  it('is a script that fish reads', async () => {
    const { stdout } = await hearth.run(['completion', 'fish'])
    const complete = (line: string): string[] =>
      execFileSync('fish', ['-c', `function hearth; echo sb_listed; end\n${stdout}\ncomplete -C '${line}'`])
        .toString()
        .trim()
        .split('\n')
        .map((each) => each.split('\t')[0] ?? '')
    expect(complete('hearth cr')).toEqual(['create'])
    expect(complete('hearth exec --int')).toEqual(['--interactive'])
    expect(complete('hearth exec sb_')).toContain('sb_listed')
    expect(complete('hearth snapshot exp')).toEqual(['export'])
    expect(complete('hearth create --rung gv')).toEqual(['gvisor'])
  })

  it('is a script that zsh reads', async () => {
    const file = join(hearth.home, '_hearth')
    writeFileSync(file, (await hearth.run(['completion', 'zsh'])).stdout)
    const start = `autoload -U compinit; compinit -u -D; source ${file}; hearth() { print -r -- "got:$*" }; print rea""dy\n`
    const { screen } = await typeInto(hearth, 'zsh -f -i', [
      [/\[K/, start],
      [/ready/, 'hearth snap\texp\t; exit\n'],
    ])
    expect(screen).toContain('got:snapshot export')
  })

  it('refuses another shell', async () => {
    expect((await hearth.run(['completion', 'csh'])).code).toBe(2)
  })
})

describe('pool', () => {
  it('shows what waits, and takes another bound', async () => {
    const set = await hearth.json<{ memoryBytes: number; waiting: number }>(['pool', 'set', '64M', '--json'])
    expect(set).toMatchObject({ memoryBytes: 64 * 1024 ** 2, waiting: 0, shapes: [] })
    expect((await hearth.run(['pool', 'ls'])).stdout).toMatch(/^0 wait, holding .* of 64/)
    expect((await hearth.run(['pool', 'set', 'off'])).stdout).toBe('off\n')
    expect((await hearth.run(['pool', 'ls', '-q'])).stdout).toBe('0\n')
    expect((await hearth.run(['pool', 'set', '64'])).code).toBe(2)
  })
})
