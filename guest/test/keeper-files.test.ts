import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { TestKeeper, eventually } from './keeper-harness.ts'

let place: string

beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'files-'))
})

afterEach(() => rmSync(place, { recursive: true, force: true }))

describe('files of a runtime', () => {
  it('opens what the steps have made, after them', async () => {
    await using keeper = new TestKeeper()
    const [source, made] = [join(place, 'source'), join(place, 'made')]
    writeFileSync(source, 'copied')
    await keeper.shell('cat <&6 >out; mv out done; exec cat', {
      steps: ['copy', source, made],
      files: ['6+', made],
    })
    await eventually(() => keeper.has('done'))
    expect(keeper.read('done')).toBe('copied')
    expect(statSync(made).mode & 0o777).toBe(0o600)
  })

  it('copies with the holes, and neither over a file nor through a link', async () => {
    const [source, made, link] = [join(place, 'source'), join(place, 'made'), join(place, 'link')]
    writeFileSync(source, 'start')
    truncateSync(source, 32 * 1024 * 1024)
    writeFileSync(source, 'middle', { flag: 'r+' })
    {
      await using keeper = new TestKeeper()
      await keeper.launch({ steps: ['copy', source, made] })
      expect(statSync(made).size).toBe(32 * 1024 * 1024)
      expect(statSync(made).blocks * 512).toBeLessThan(1024 * 1024)
      expect(readFileSync(made).subarray(0, 7).toString()).toBe('middle\0')
    }
    symlinkSync(source, link)
    for (const steps of [
      ['copy', source, made],
      ['copy', link, join(place, 'other')],
      ['copy', source, link],
    ]) {
      await using keeper = new TestKeeper()
      await expect(keeper.launch({ steps })).rejects.toThrow('copy')
    }
  })

  it('listens for the runtime on a socket in its directory', async () => {
    await using keeper = new TestKeeper()
    const accept =
      'import socket; s=socket.socket(fileno=9); c,_=s.accept(); c.sendall(b"hello"); c.close(); open("done","w"); input()'
    await keeper.launch({ argv: ['/usr/bin/python3', '-c', accept], files: ['9s', 'control.sock'] })
    const path = join(keeper.directory, 'control.sock')
    expect(statSync(path).mode & 0o777).toBe(0o600)
    const socket = connect(path)
    let text = ''
    for await (const chunk of socket) text += String(chunk)
    expect(text).toBe('hello')
  })

  it.each([
    [['9s', '../control.sock'], '22 files'],
    [['9s', '.hidden'], '22 files'],
    [['9s', ''], '22 files'],
    [['9x', 'name'], '22 files'],
    [['+', '/dev/null'], '22 files'],
    [['9s', 'x'.repeat(200)], '36'],
    [['9+', '/nowhere/at/all'], '2 files'],
  ])('refuses %j', async (files, expected) => {
    await using keeper = new TestKeeper()
    await expect(keeper.launch({ files })).rejects.toThrow(expected)
  })
})
