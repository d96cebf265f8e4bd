import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { MESSAGE_TYPES } from '../../packages/engine/src/link/messages.gen.ts'
import { HEADER_BYTES } from '../../packages/engine/src/link/wire.ts'
import { frame, PROGRAM } from './keeper-harness.ts'

/** The type of the first frame that comes. */
async function answerType(socket: Socket): Promise<number> {
  const bytes: Buffer[] = []
  for await (const chunk of socket) {
    bytes.push(chunk as Buffer)
    const all = Buffer.concat(bytes)
    if (all.length >= HEADER_BYTES) return all.readUInt8(4)
  }
  throw new Error('the connection ended')
}

it('makes a keeper of each connection, and leaves them when its owner goes', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'nursery-'))
  const path = join(directory, 'one.sock')
  const nursery = spawn(PROGRAM, ['nursery', 'one.sock'], {
    cwd: directory,
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  })
  const owner = nursery.stdio[3] as Socket
  await new Promise((resolve) => owner.once('data', resolve))
  expect(statSync(path).mode & 0o777).toBe(0o600)

  const keepers = [connect(path), connect(path), connect(path)]
  for (const keeper of keepers.slice(0, 2)) keeper.write(frame('KeeperPrepare', 0, { cgroups: [] }))
  expect(await answerType(keepers[0] as Socket)).toBe(MESSAGE_TYPES.Done)
  expect(await answerType(keepers[1] as Socket)).toBe(MESSAGE_TYPES.Done)

  const ended = new Promise((resolve) => nursery.once('exit', resolve))
  owner.destroy()
  expect(await ended).toBe(0)
  expect(existsSync(path)).toBe(false)
  // The third was connected before, and answers although its maker is gone.
  keepers[2]?.write(frame('KeeperPrepare', 0, { cgroups: [] }))
  expect(await answerType(keepers[2] as Socket)).toBe(MESSAGE_TYPES.Done)
  for (const keeper of keepers) keeper.destroy()
  rmSync(directory, { recursive: true })
})

it('says so when it cannot listen', async () => {
  const nursery = spawn(PROGRAM, ['nursery', '/nowhere/at/all.sock'], { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] })
  expect(await new Promise((resolve) => nursery.once('exit', resolve))).toBe(1)
})
