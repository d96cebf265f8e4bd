import { chownSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { TestKeeper, data, eventually, frame } from './keeper-harness.ts'

const RENAME = frame('KeeperRename', 0, {})
const NOBODY = 65_534
const INSIDE = 'touch ready; while read -r line; do hostname >name; done; exec cat'

/** The name inside, after a keeper was told this one. */
async function renamed(keeper: TestKeeper, name: string): Promise<string> {
  writeFileSync(join(keeper.directory, 'hostname'), name)
  keeper.connection.send(RENAME, data(1, Buffer.from('\n')))
  await eventually(() => keeper.has('name') && keeper.read('name').trim() !== '')
  return keeper.read('name').trim()
}

describe('a sandbox that gets another name', () => {
  it('has it, and the host does not', async () => {
    const before = hostname()
    await using keeper = new TestKeeper()
    await keeper.launch({ argv: ['/usr/bin/unshare', '--uts', '/bin/sh', '-c', INSIDE] })
    await eventually(() => keeper.has('ready'))
    expect(await renamed(keeper, 'sbx-another')).toBe('sbx-another')
    expect(hostname()).toBe(before)
  })

  it('has it also when its keeper is not root', async () => {
    await using keeper = new TestKeeper(NOBODY)
    // The directory was made by root.
    chownSync(keeper.directory, NOBODY, NOBODY)
    await keeper.launch({ argv: ['/usr/bin/unshare', '--uts', '/bin/sh', '-c', INSIDE], flags: 2 })
    await eventually(() => keeper.has('ready'))
    expect(await renamed(keeper, 'sbx-rootless')).toBe('sbx-rootless')
  })

  it('never gives the name to the host, where nothing has a namespace of names of its own', async () => {
    const before = hostname()
    await using keeper = new TestKeeper()
    await keeper.launch()
    writeFileSync(join(keeper.directory, 'hostname'), 'sbx-host')
    keeper.connection.send(RENAME, data(1, Buffer.from('on')))
    expect((await keeper.connection.next()).payload.toString()).toBe('on')
    expect(hostname()).toBe(before)
  })
})
