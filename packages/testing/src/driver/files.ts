import { expect } from 'vitest'
import { expectRefusal, output, scratch } from '../support/expectations.ts'
import type { Suite } from '../support/suite.ts'

export function describeFiles(suite: Suite): void {
  suite.test('text and bytes are written and read', {}, async (sandbox) => {
    const path = `${scratch('new')}/parents/file ü.txt`
    const info = await sandbox.files.write(path, 'héllo\n')
    expect(info).toMatchObject({ path, name: 'file ü.txt', type: 'file', size: 7, mode: 0o644 })
    expect(await sandbox.files.readText(path)).toBe('héllo\n')
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => index))
    await sandbox.files.write(path, bytes)
    expect(Buffer.from(await sandbox.files.read(path))).toEqual(bytes)
    await sandbox.files.write(path, '')
    expect(await sandbox.files.read(path)).toHaveLength(0)
  })

  suite.test('commands see what was written, and the other way round', {}, async (sandbox) => {
    const path = scratch('both')
    await sandbox.files.write(path, 'from outside')
    expect(await output(sandbox, ['cat', path])).toBe('from outside')
    await sandbox.exec(`echo from inside > ${path}`)
    expect(await sandbox.files.readText(path)).toBe('from inside\n')
  })

  suite.test('content may be a stream', {}, async (sandbox) => {
    const path = scratch('stream')
    async function* parts(): AsyncGenerator<Uint8Array> {
      for (let index = 0; index < 100; index++) yield Buffer.from(`${index},`)
    }
    await sandbox.files.write(path, parts())
    expect(await sandbox.files.readText(path)).toBe(Array.from({ length: 100 }, (_, index) => `${index},`).join(''))
  })

  suite.test('ranges', {}, async (sandbox) => {
    const path = scratch('range')
    await sandbox.files.write(path, '0123456789')
    expect(await sandbox.files.readText(path, { offset: 3 })).toBe('3456789')
    expect(await sandbox.files.readText(path, { offset: 3, length: 4 })).toBe('3456')
    expect(await sandbox.files.readText(path, { length: 0 })).toBe('')
    expect(await sandbox.files.readText(path, { offset: 100 })).toBe('')
    expect(await sandbox.files.readText(path, { offset: 8, length: 100 })).toBe('89')
  })

  suite.test('append, exclusive and mode', {}, async (sandbox) => {
    const path = scratch('append')
    await sandbox.files.write(path, 'one', { mode: 0o600, exclusive: true })
    await sandbox.files.write(path, ' two', { append: true })
    expect(await sandbox.files.readText(path)).toBe('one two')
    await expectRefusal(sandbox.files.write(path, 'x', { exclusive: true }), 'file_exists')
    expect(await sandbox.files.readText(path)).toBe('one two')
    expect(await sandbox.files.write(path, 'replaced')).toMatchObject({ mode: 0o600, size: 8 })
    await sandbox.files.chmod(path, 0o755)
    expect((await sandbox.files.stat(path)).mode).toBe(0o755)
  })

  suite.test('a replaced file is never seen in part', { needs: ['processes'], timeoutMs: 60_000 }, async (sandbox) => {
    const path = scratch('atomic')
    const contents = ['a', 'b'].map((letter) => Buffer.alloc(300_000, letter))
    await sandbox.files.write(path, contents[0] ?? '')
    const check = `import sys\nfor i in range(100):\n  d=open("${path}").read()\n  if len(d)!=300000 or d.strip(d[0]): sys.exit(9)`
    const checking = sandbox.exec(['python3', '-c', check])
    for (let index = 0; index < 20; index++) await sandbox.files.write(path, contents[index % 2] ?? '')
    expect(await checking).toMatchObject({ exitCode: 0, stderr: '' })
  })

  suite.test('directories are made, listed, renamed and removed', {}, async (sandbox) => {
    const root = scratch('tree')
    await sandbox.files.makeDirectory(`${root}/b/c`, { parents: true })
    await sandbox.files.write(`${root}/b/c/deep`, 'x')
    await sandbox.files.write(`${root}/a`, 'xyz')
    const flat = await sandbox.files.list(root)
    expect(flat.map((entry) => [entry.path, entry.type])).toEqual([
      [`${root}/a`, 'file'],
      [`${root}/b`, 'directory'],
    ])
    const deep = await sandbox.files.list(root, { depth: 3 })
    expect(deep.map((entry) => entry.path)).toEqual([`${root}/a`, `${root}/b`, `${root}/b/c`, `${root}/b/c/deep`])
    await sandbox.files.rename(`${root}/b`, `${root}/z`)
    expect(await sandbox.files.exists(`${root}/z/c/deep`)).toBe(true)
    expect(await sandbox.files.exists(`${root}/b`)).toBe(false)
    await expectRefusal(sandbox.files.remove(`${root}/z`), 'directory_not_empty', 'is_a_directory')
    await sandbox.files.remove(root, { recursive: true })
    expect(await sandbox.files.exists(root)).toBe(false)
    await expectRefusal(sandbox.files.remove(root), 'file_not_found')
    await sandbox.files.remove(root, { force: true, recursive: true })
  })

  suite.test('a directory with many entries and odd names', { timeoutMs: 60_000 }, async (sandbox) => {
    const root = scratch('many')
    const odd = ['a b', 'quote"\'', 'ünï', '-rf', '*', 'new\nline', 'x'.repeat(200)]
    await sandbox.files.makeDirectory(root)
    for (const name of odd) await sandbox.files.write(`${root}/${name}`, name)
    await sandbox.exec(`cd ${root}; for i in $(seq 1 1500); do echo > n$i; done`, { timeoutMs: 50_000 })
    const names = (await sandbox.files.list(root)).map((entry) => entry.name)
    expect(names).toHaveLength(1500 + odd.length)
    expect(names).toEqual(expect.arrayContaining(odd))
    expect(await sandbox.files.readText(`${root}/new\nline`)).toBe('new\nline')
    await sandbox.files.remove(root, { recursive: true })
  })
}
