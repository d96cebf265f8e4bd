import { expect } from 'vitest'
import { collect, expectRefusal, output, scratch } from '../support/expectations.ts'
import type { Suite } from '../support/suite.ts'

export function describeFileErrors(suite: Suite): void {
  suite.test('what is not there', {}, async (sandbox) => {
    const { files } = sandbox
    const missing = `${scratch('absent')}/file`
    expect(await files.exists(missing)).toBe(false)
    await expectRefusal(files.read(missing), 'file_not_found')
    await expectRefusal(files.stat(missing), 'file_not_found')
    await expectRefusal(files.list(missing), 'file_not_found')
    await expectRefusal(files.rename(missing, `${missing}2`), 'file_not_found')
    await expectRefusal(files.chmod(missing, 0o600), 'file_not_found')
    await expectRefusal(files.write(missing, 'x', { parents: false }), 'file_not_found')
    await expectRefusal(files.makeDirectory(missing, { parents: false }), 'file_not_found')
    await expectRefusal(collect(files.readStream(missing)), 'file_not_found')
    await expectRefusal(collect(files.archive(missing)), 'file_not_found')
  })

  suite.test('what is of another kind', {}, async (sandbox) => {
    const { files } = sandbox
    const directory = scratch('kinds')
    await files.write(`${directory}/file`, 'x')
    await expectRefusal(files.read(directory), 'is_a_directory')
    await expectRefusal(files.write(directory, 'x'), 'is_a_directory')
    await expectRefusal(files.list(`${directory}/file`), 'not_a_directory')
    await expectRefusal(files.read(`${directory}/file/below`), 'not_a_directory', 'file_not_found')
    await expectRefusal(files.write(`${directory}/file/below`, 'x'), 'not_a_directory', 'file_exists')
    await expectRefusal(files.makeDirectory(`${directory}/file`), 'file_exists', 'not_a_directory')
  })

  suite.test('paths that are not absolute or not paths', {}, async (sandbox) => {
    const hostile: unknown[] = ['relative', '', '/a\0b', `/${'x'.repeat(5000)}`, 5, null, undefined]
    for (const path of hostile) {
      await expectRefusal(sandbox.files.read(path as string), 'invalid_request')
      await expectRefusal(sandbox.files.write(path as string, 'x'), 'invalid_request')
      await expectRefusal(sandbox.files.remove(path as string), 'invalid_request')
    }
  })

  suite.test('special files are not read', { needs: ['processes'] }, async (sandbox) => {
    const fifo = scratch('fifo')
    await output(sandbox, ['mkfifo', fifo])
    await expectRefusal(sandbox.files.read(fifo), 'file_failed', 'invalid_request')
    expect((await sandbox.files.stat(fifo)).type).toBe('fifo')
    await expectRefusal(sandbox.files.read('/dev/zero'), 'file_failed', 'invalid_request')
  })

  suite.test('symlinks are followed, or looked at', {}, async (sandbox) => {
    const directory = scratch('links')
    await sandbox.files.write(`${directory}/target`, 'content')
    await sandbox.files.symlink('target', `${directory}/link`)
    await sandbox.files.symlink('nowhere', `${directory}/broken`)
    expect(await sandbox.files.readText(`${directory}/link`)).toBe('content')
    expect(await sandbox.files.stat(`${directory}/link`)).toMatchObject({ type: 'file', size: 7 })
    const link = await sandbox.files.stat(`${directory}/link`, { followSymlinks: false })
    expect(link).toMatchObject({ type: 'symlink', target: 'target' })
    await expectRefusal(sandbox.files.stat(`${directory}/broken`), 'file_not_found')
    await sandbox.files.remove(`${directory}/link`)
    expect(await sandbox.files.readText(`${directory}/target`)).toBe('content')
  })

  suite.test('a symlink that goes in circles', {}, async (sandbox) => {
    // Not in /tmp itself: there a kernel may refuse to follow what another user has linked.
    const directory = scratch('circle')
    await sandbox.files.makeDirectory(directory)
    const path = `${directory}/circle`
    await sandbox.files.symlink(path, path)
    await expectRefusal(sandbox.files.read(path), 'file_failed', 'file_not_found')
    await sandbox.files.remove(path)
  })

  suite.test('removing a tree leaves what its symlinks point at', {}, async (sandbox) => {
    const root = scratch('precious')
    await sandbox.files.write(`${root}/outside/file`, 'precious')
    await sandbox.files.makeDirectory(`${root}/inside`)
    await sandbox.files.symlink(`${root}/outside`, `${root}/inside/link`)
    await sandbox.files.remove(`${root}/inside`, { recursive: true })
    expect(await sandbox.files.readText(`${root}/outside/file`)).toBe('precious')
  })

  suite.test('dot-dot stays inside the sandbox', {}, async (sandbox) => {
    await sandbox.files.write('/tmp/../tmp/dots', 'x')
    expect(await sandbox.files.readText('/tmp/dots')).toBe('x')
    expect(await sandbox.files.exists('/../../../../tmp/dots')).toBe(true)
  })
}
