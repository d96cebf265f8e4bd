import { execFileSync } from 'node:child_process'
import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BINARY, HearthCommand, said } from './hearth-command.ts'

let hearth: HearthCommand
beforeAll(async () => void (hearth = await HearthCommand.create()))
afterAll(async () => await hearth[Symbol.asyncDispose]())

/** Another Node on this machine than the one that came with the repository; the launcher must cope with it. */
function olderNode(): string | null {
  for (const path of ['/usr/bin/node', '/usr/local/bin/node']) {
    try {
      const major = Number(/^v(\d+)/.exec(execFileSync(path, ['--version'], { encoding: 'utf8' }))?.[1])
      if (major < 24) return path
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
    }
  }
  return null
}

const older = olderNode()

describe('the launcher', () => {
  it('works through a link', async () => {
    const link = join(hearth.home, 'hearth')
    await symlink(BINARY, link)
    const { child, finished } = hearth.start(['--version'], link)
    child.stdin?.end()
    expect(await finished).toMatchObject({ code: 0, stdout: '0.1.0\n' })
  })

  it.runIf(older !== null)('passes input, exit code and signals through from an older Node', async () => {
    const command = ['run', '--rung', 'process', '--', 'sh', '-c']
    const first = hearth.start([BINARY, ...command, 'cat; exit 9'], older ?? '')
    first.child.stdin?.end('through')
    expect(await first.finished).toMatchObject({ code: 9, stdout: 'through' })
    const second = hearth.start(
      [BINARY, ...command, 'trap "exit 5" INT; echo ready; while :; do sleep 0.05; done'],
      older ?? '',
    )
    await said(second.child, 'ready')
    second.child.kill('SIGINT')
    expect((await second.finished).code).toBe(5)
  })
})

describe('doctor', () => {
  it('tells every rung, for people', async () => {
    const result = await hearth.run(['doctor'])
    expect(result).toMatchObject({ code: 0, stderr: '' })
    for (const word of ['simulated', 'process', 'container', 'gvisor', 'microvm', 'cgroups', 'store', 'templates']) {
      expect(result.stdout).toMatch(new RegExp(`^${word} `, 'm'))
    }
    expect(result.stdout.match(/used unless another is asked for/g)).toHaveLength(1)
  })

  it('tells the same to programs', async () => {
    const { code, stdout } = await hearth.run(['doctor', '--json'])
    expect(code).toBe(0)
    const report = JSON.parse(stdout) as {
      rungs: { rung: string; available: boolean; label?: string; reason?: string }[]
    }
    expect(new Set(report.rungs.map(({ rung }) => rung))).toEqual(
      new Set(['simulated', 'process', 'container', 'gvisor', 'microvm']),
    )
    for (const rung of report.rungs) expect(rung.available ? rung.label : rung.reason).toEqual(expect.any(String))
    expect(report).toMatchObject({
      version: '0.1.0',
      home: hearth.home,
      cgroups: {},
      store: {},
      templates: expect.any(Array),
    })
  })
})

describe('templates', () => {
  it('are listed for people and for programs', async () => {
    expect((await hearth.run(['template', 'ls'])).stdout).toMatch(/^NAME +BUILT +DIGEST\n/)
    const names = (await hearth.run(['template', 'ls', '-q'])).stdout.trim().split('\n')
    expect(names).toContain('host')
    const listed = JSON.parse((await hearth.run(['template', 'ls', '--json'])).stdout) as { name: string }[]
    expect(listed.map(({ name }) => name)).toEqual(names)
  })
})
