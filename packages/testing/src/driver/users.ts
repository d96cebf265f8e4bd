import { expect } from 'vitest'
import { expectRefusal, output, scratch, text } from '../support/expectations.ts'
import type { Suite } from '../support/suite.ts'

const NEEDS = { needs: ['users'] } as const

export function describeUsers(suite: Suite): void {
  suite.test('a command runs as the user that is named', NEEDS, async (sandbox) => {
    expect(text(await sandbox.exec('id -u; id -g', { user: 'root' }))).toBe('0\n0')
    expect(text(await sandbox.exec('id -un', { user: 'nobody' }))).toBe('nobody')
    expect(text(await sandbox.exec('id -u', { user: '12345' }))).toBe('12345')
    expect(text(await sandbox.exec('id -u; id -g', { user: '1234:4321' }))).toBe('1234\n4321')
    expect(text(await sandbox.exec('id -un; id -gn', { user: 'nobody:root' }))).toBe('nobody\nroot')
  })

  suite.test('groups of root are not kept', NEEDS, async (sandbox) => {
    expect(text(await sandbox.exec('id -G', { user: '1234:4321' }))).toBe('4321')
  })

  suite.test('a user that does not exist', NEEDS, async (sandbox) => {
    await expectRefusal(sandbox.exec('true', { user: 'nosuchuser' }), 'spawn_failed')
  })

  suite.test('a user cannot touch what belongs to another, nor become one', NEEDS, async (sandbox) => {
    const path = scratch('private')
    await sandbox.files.write(path, 'private', { mode: 0o600, user: 'root' })
    const reading = await sandbox.exec(['cat', path], { user: 'nobody' })
    expect(reading.exitCode).toBe(1)
    expect(reading.stderr).toContain('Permission denied')
    const program =
      'import os\ntry:\n  os.setuid(0)\n  print("became root")\nexcept PermissionError:\n  print("refused")'
    expect(text(await sandbox.exec(['python3', '-c', program], { user: 'nobody' }))).toBe('refused')
  })

  suite.test('files belong to the user that is named', NEEDS, async (sandbox) => {
    const directory = scratch('owned')
    await sandbox.files.makeDirectory(directory, { user: 'nobody' })
    await sandbox.files.write(`${directory}/file`, 'x', { user: 'nobody' })
    expect(await output(sandbox, `stat -c %U ${directory} ${directory}/file`)).toBe('nobody\nnobody')
    const info = await sandbox.files.stat(`${directory}/file`)
    expect(info.uid).toBe(Number(text(await sandbox.exec('id -u nobody'))))
  })

  suite.own(
    'the user of the sandbox is the default of commands and files',
    { ...NEEDS, spec: { user: 'nobody' } },
    async (sandbox) => {
      expect(await output(sandbox, 'id -un')).toBe('nobody')
      const path = scratch('default')
      await sandbox.files.write(path, 'x')
      expect(await output(sandbox, `stat -c %U ${path}`)).toBe('nobody')
      expect(await output(sandbox, 'touch in-workdir && echo written')).toBe('written')
      expect(text(await sandbox.exec('id -u', { user: 'root' }))).toBe('0')
    },
  )
}
