import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, readdir, rm, statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HearthError, newSnapshotId } from '@hearth/contract'
import { describe, expect, it } from 'vitest'
import { Stage } from './testing/stage.fixture.ts'

const root = process.getuid?.() === 0
const MiB = 1024 * 1024

/** Everything that is free but this many bytes. */
async function fill(directory: string, leave: number): Promise<void> {
  const { bavail, bsize } = await statfs(directory)
  const chunk = Buffer.alloc(MiB, 7)
  for (let left = bavail * bsize - leave, index = 0; left > MiB; left -= MiB, index++) {
    await writeFile(join(directory, `filler-${index}`), chunk)
  }
}

describe.runIf(root)('a store without room', { timeout: 60_000 }, () => {
  it('refuses a copy, keeps nothing of it, and the sandbox goes on', async () => {
    const disk = await mkdtemp(join(tmpdir(), 'hearth-small-'))
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=40m', 'tmpfs', disk])
    try {
      await using stage = await Stage.open({ directory: disk })
      const actor = await stage.launch()
      await actor.run('head -c 20000000 /dev/urandom > /root/mine')
      await fill(stage.paths.home, 8 * MiB)
      await expect(stage.capture(actor)).rejects.toMatchObject({ code: 'store_full', retryable: true })
      expect(await readdir(join(stage.paths.store, 'snapshots'))).toEqual([])
      expect(await actor.run('wc -c < /root/mine; echo on > /root/on; cat /root/on')).toBe('20000000\non\n')
      await actor.machine.kill()
    } finally {
      execFileSync('umount', [disk])
      await rm(disk, { recursive: true, force: true })
    }
  })

  it('on btrfs takes a snapshot or refuses, and what is there stays whole', async () => {
    await using stage = await Stage.open({ btrfs: '256M' })
    const actor = await stage.launch()
    await actor.run('head -c 20000000 /dev/urandom > /root/mine; sha256sum /root/mine > /root/sum; sync /root')
    const first = await stage.capture(actor)
    await mkdir(join(stage.paths.store, 'filler'))
    const full = await fill(join(stage.paths.store, 'filler'), 0).then(
      () => null,
      (error: NodeJS.ErrnoException) => error.code,
    )
    expect([null, 'ENOSPC']).toContain(full)
    await expect(actor.run('head -c 30000000 /dev/urandom > /root/more && sync /root/more')).rejects.toThrow(/No space/)
    const id = newSnapshotId()
    const outcome = await stage.capture(actor).then(
      (snapshot) => snapshot.id,
      (error: unknown) => (HearthError.isInstance(error) ? error.code : error),
    )
    expect(outcome === 'store_full' || String(outcome).slice(0, 3) === id.slice(0, 3), String(outcome)).toBe(true)
    expect((await readdir(join(stage.paths.store, 'snapshots'))).length).toBe((await stage.snapshots.list()).length)
    expect(await actor.run('rm -f /root/more; sha256sum -c /root/sum')).toContain('OK')
    await rm(join(stage.paths.store, 'filler'), { recursive: true })
    execFileSync('sync', ['-f', stage.paths.store])
    const child = await stage.launch(first)
    expect(await child.run('sha256sum -c /root/sum')).toContain('OK')
    await Promise.all([actor, child].map(({ machine }) => machine.kill()))
  })
})
