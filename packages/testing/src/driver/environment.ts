import { expect } from 'vitest'
import { expectRefusal, output, scratch } from '../support/expectations.ts'
import type { Suite } from '../support/suite.ts'

const HOST_ONLY = 'HEARTH_SUITE_HOST_ONLY'

export function describeEnvironment(suite: Suite): void {
  suite.test('variables of a command, also odd ones', {}, async (sandbox) => {
    const env = { PLAIN: 'value', SPACED: ' a  b ', UNICODE: 'ü✓', LINES: 'one\ntwo', EMPTY: '', EQUALS: 'a=b=c' }
    const names = Object.keys(env).map((name) => `"$${name}"`)
    const result = await sandbox.exec(`printf '[%s]' ${names.join(' ')}`, { env })
    expect(result.stdout).toBe(
      Object.values(env)
        .map((value) => `[${value}]`)
        .join(''),
    )
  })

  suite.test('variables of one command are not seen by the next', {}, async (sandbox) => {
    await sandbox.exec('true', { env: { ONCE: 'x' } })
    expect(await output(sandbox, 'echo "[$ONCE]"')).toBe('[]')
  })

  suite.test('nothing of the host is inherited', {}, async (sandbox) => {
    process.env[HOST_ONLY] = 'host secret'
    try {
      const variables = await output(sandbox, 'env')
      expect(variables).not.toContain(HOST_ONLY)
      expect(variables).not.toContain('host secret')
      expect(variables).not.toMatch(/^(HEARTH|NODE|npm|VITEST)/m)
    } finally {
      delete process.env[HOST_ONLY]
    }
  })

  suite.test('what programs expect is set', {}, async (sandbox) => {
    expect(await output(sandbox, 'echo "$PATH"')).toContain('/bin')
    expect(await output(sandbox, 'echo "$HOME"')).toMatch(/^\//)
  })

  suite.test('the working directory of a command', {}, async (sandbox) => {
    expect(text(await sandbox.exec('pwd', { cwd: '/tmp' }))).toBe('/tmp')
    const odd = scratch('a b ü')
    await sandbox.files.makeDirectory(odd)
    expect(text(await sandbox.exec('pwd', { cwd: odd }))).toBe(odd)
  })

  suite.test('a working directory that does not exist', {}, async (sandbox) => {
    await expectRefusal(sandbox.exec('true', { cwd: '/no/such/directory' }), 'spawn_failed', 'file_not_found')
  })

  suite.own(
    'environment, working directory and host name of the sandbox',
    { spec: { env: { BASE: 'base', OTHER: 'other' }, workdir: '/work/place', hostname: 'hearth-test' } },
    async (sandbox) => {
      expect(await output(sandbox, 'pwd')).toBe('/work/place')
      expect(await output(sandbox, 'touch here && echo written')).toBe('written')
      const result = await sandbox.exec('echo "$BASE $OTHER"', { env: { BASE: 'replaced' } })
      expect(result.stdout).toBe('replaced other\n')
      expect(await output(sandbox, 'hostname')).toBe('hearth-test')
    },
  )
}

function text(result: { readonly stdout: string }): string {
  return result.stdout.replace(/\n$/, '')
}
