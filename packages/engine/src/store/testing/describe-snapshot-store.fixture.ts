import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { newSandboxId, newSnapshotId, type SnapshotId } from '@hearth/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { CapturedArea } from '../disk-area.ts'
import { MAXIMUM_LAYERS } from '../layers.ts'
import type { StoredSnapshot } from '../snapshot-manifest.ts'
import { manifestOf, Stage } from './stage.fixture.ts'

const NOTHING: ReadonlySet<SnapshotId> = new Set()

/** Everything by which a file system can differ from its template. */
const CHANGES = [
  'cd /root',
  'echo kept > file; chmod 640 file; ln file second; ln -s file link; ln -s /etc/passwd out; mkfifo pipe',
  'mkdir -p deep/er; echo below > deep/er/file; chmod 700 deep',
  'truncate -s 5M sparse; printf end >> sparse',
  'rm /etc/hosts; rm -r /etc/profile.d 2>/dev/null; rm -r /opt; mkdir /opt; echo new > /opt/only',
  'echo more >> /etc/passwd; mkdir closed; echo hidden > closed/file; chmod 000 closed/file closed',
].join('; ')

const REPORT = [
  'cd /root',
  'cat file second link; stat -c "%a %u %h %F" file second link pipe deep deep/er',
  '[ file -ef second ] && echo linked; readlink out',
  'stat -c %s sparse; tail -c 3 sparse; echo; cat deep/er/file',
  'ls /etc/hosts /etc/profile.d 2>&1 | wc -l; ls /opt; tail -1 /etc/passwd; stat -c %a closed',
].join('; ')

const STRANGE =
  'cd /root; ls | od -c; stat -c %y deep; cat file second; stat -c "%a %u" file closed; stat -c %h file; ls /opt; [ ! -e /etc/hosts ]'

/** What every kind of store does alike. `open` makes a new home with such a store. */
export function describeSnapshotStore(name: string, open: () => Promise<Stage>): void {
  describe(`the snapshot store: ${name}`, { timeout: 60_000 }, () => {
    let stage: Stage
    beforeAll(async () => {
      stage = await open()
    }, 60_000)
    afterAll(async () => await stage[Symbol.asyncDispose]())
    copies(() => stage)
    travels(() => stage)
    keeps(() => stage)
    sweeps(() => stage)
  })
}

/** What is captured, and what becomes of it. */
function copies(stage: () => Stage): void {
  it('says how much the sandbox has written, and is of one instant when it stands still', async () => {
    const actor = await stage().launch()
    await actor.run('head -c 3000000 /dev/urandom > /root/mine; ln -s mine /root/link')
    const { diskBytes } = (await stage().capture(actor)).manifest.info
    expect(diskBytes).toBeGreaterThan(2_900_000)
    expect(diskBytes).toBeLessThan(4_000_000)
    // Each line of `two` is written after the same line of `one`.
    const writer = 'i=0; while :; do i=$((i+1)); echo $i >> /root/one; echo $i >> /root/two; done'
    await actor.run(`touch /root/one /root/two; setsid sh -c '${writer}' > /dev/null 2>&1 &`)
    for (let round = 0; round < 2; round++) {
      await actor.machine.pause()
      const snapshot = await stage().capture(actor)
      await actor.machine.resume()
      const child = await stage().launch(snapshot)
      const [one = 0, two = 0] = (await child.run('wc -l < /root/one; wc -l < /root/two'))
        .trim()
        .split('\n')
        .map(Number)
      expect([0, 1]).toContain(one - two)
      await child.run('head -n -1 /root/one | sort -nc')
      await child.machine.kill()
    }
    await actor.machine.kill()
  })

  it('gives a child every file of its parent, and then both go their ways', async () => {
    const parent = await stage().launch()
    await parent.run(CHANGES)
    const seen = await parent.run(REPORT)
    const snapshot = await stage().capture(parent)
    const [child, sibling] = await Promise.all([stage().launch(snapshot), stage().launch(snapshot)])
    expect(await child.run(REPORT)).toBe(seen)
    await parent.run('echo parent > /root/file; touch /etc/hosts')
    await child.run('echo child > /root/file; rm /root/deep/er/file; rm -r /opt')
    expect(await sibling.run(REPORT)).toBe(seen)
    expect(await parent.run('cat /root/file /root/deep/er/file /opt/only')).toBe('parent\nbelow\nnew\n')
    expect(await child.run('cat /root/file; ls /opt /root/deep/er 2>&1 | wc -l; [ ! -e /etc/hosts ]')).toMatch(
      /^child\n/,
    )
    await Promise.all([parent, child, sibling].map(({ machine }) => machine.kill()))
    await stage().snapshots.remove(snapshot.id, NOTHING)
  })

  it('outlives the sandbox, and keeps what it was while the sandbox goes on', async () => {
    const first = await stage().launch()
    await first.run('echo one > /root/a')
    const snapshot = await stage().capture(first)
    await first.run('echo two > /root/a')
    await first.machine.kill()
    const second = await stage().launch(snapshot)
    expect(await second.run('cat /root/a')).toBe('one\n')
    await second.machine.kill()
  })
}

/** Further than from one parent to one child. */
function travels(stage: () => Stage): void {
  it('takes snapshots of children of children, also more than a root has layers', async () => {
    let snapshot: StoredSnapshot | null = null
    let most = 0
    let last = MAXIMUM_LAYERS + 1
    for (let generation = 0; generation <= last; generation++) {
      const actor = await stage().launch(snapshot)
      const [here, away] = [generation % 3, (generation + 1) % 3]
      await actor.run(`echo ${generation} >> /root/log; mkdir -p /root/d${here}; rm -rf /root/d${away}`)
      snapshot = await stage().capture(actor)
      if (snapshot.manifest.disk.kind === 'layer') most = Math.max(most, snapshot.manifest.disk.layers.length)
      // Subvolumes do not lie on each other.
      else last = 2
      await actor.machine.kill()
    }
    expect(most).toBeLessThan(MAXIMUM_LAYERS)
    const child = await stage().launch(snapshot)
    const numbers = Array.from({ length: last + 1 }, (_, index) => `${index}\n`).join('')
    expect(await child.run('cat /root/log; ls -d /root/d*')).toBe(`${numbers}/root/d1\n/root/d2\n`)
    await child.machine.kill()
  })

  it('goes to another host as one file, and back', async () => {
    await using other = await Stage.open()
    const first = await stage().launch()
    await first.run(CHANGES)
    const second = await stage().launch(await stage().capture(first))
    // A name that is no text.
    const name = "$(printf 'a\\351b')"
    await second.run(`printf x > "/root/${name}"; rm -r /root/deep; mkdir /root/deep; touch -d 2001-02-03 /root/deep`)
    const seen = await second.run(STRANGE)
    const snapshot = await stage().capture(second)
    const there = await other.snapshots.import(stage().snapshots.export(snapshot), { name: 'moved' })
    expect(there.manifest.info).toMatchObject({ name: 'moved', parent: null, sandbox: second.id })
    const copy = await other.launch(there)
    expect(await copy.run(STRANGE)).toBe(seen)
    const back = await stage().snapshots.import(other.snapshots.export(await other.capture(copy)))
    const last = await stage().launch(back)
    expect(await last.run(STRANGE)).toBe(seen)
    await Promise.all([first, second, copy, last].map(({ machine }) => machine.kill()))
  })
}

/** Limits and names. */
function keeps(stage: () => Stage): void {
  it('keeps the limit of a child', async () => {
    const parent = await stage().launch()
    await parent.run('head -c 4000000 /dev/urandom > /root/mine')
    const child = await stage().launch(await stage().capture(parent), { diskBytes: 16 * 1024 * 1024 })
    await expect(child.run('head -c 40000000 /dev/urandom > /root/big && sync /root/big')).rejects.toThrow(
      /No space left|quota/i,
    )
    expect(await child.run('rm /root/big; wc -c < /root/mine')).toBe('4000000\n')
    await Promise.all([parent, child].map(({ machine }) => machine.kill()))
  })

  it('finds by id and by name, and gives each name once', async () => {
    const actor = await stage().launch()
    const named = await stage().capture(actor, { name: 'golden', metadata: { for: 'tests' } })
    expect((await stage().snapshots.get('golden')).manifest).toEqual(named.manifest)
    expect((await stage().snapshots.get(named.id)).id).toBe(named.id)
    const before = (await stage().snapshots.list()).length
    await expect(stage().capture(actor, { name: 'golden' })).rejects.toMatchObject({ code: 'conflict' })
    expect((await stage().snapshots.list()).length).toBe(before)
    await stage().snapshots.remove(named.id, NOTHING)
    await expect(stage().snapshots.get('golden')).rejects.toMatchObject({ code: 'snapshot_not_found' })
    const again = await stage().capture(actor, { name: 'golden' })
    expect((await stage().snapshots.get('golden')).id).toBe(again.id)
    await actor.machine.kill()
  })
}

/** What stays and what goes. */
function sweeps(stage: () => Stage): void {
  it('never removes what is in use, and collects what nobody can use', async () => {
    const actor = await stage().launch()
    const fork = await stage().capture(actor, { kind: 'fork' })
    const child = await stage().launch(fork)
    const above = await stage().capture(child, { kind: 'fork' })
    await expect(stage().snapshots.remove(fork.id, new Set([fork.id]))).rejects.toMatchObject({
      code: 'snapshot_in_use',
    })
    expect((await stage().snapshots.collect(new Set([fork.id, above.id]))).forks).toEqual([])
    // A layer lies on those below it, a subvolume on none.
    const layered = above.manifest.disk.kind === 'layer'
    expect((await stage().snapshots.collect(new Set([above.id]))).forks).toEqual(layered ? [] : [fork.id])
    expect((await stage().snapshots.collect(NOTHING)).forks).toEqual(layered ? [above.id, fork.id] : [above.id])
    await Promise.all([actor, child].map(({ machine }) => machine.kill()))
  })

  it('shows no half-made snapshot, and sweeps it when its maker is dead', async () => {
    const actor = await stage().launch()
    const id = newSnapshotId()
    const { directory } = await stage().snapshots.draft(id)
    await stage().captureInto(actor, directory)
    await actor.machine.kill()
    await expect(stage().snapshots.get(id)).rejects.toMatchObject({ code: 'snapshot_not_found' })
    expect((await stage().snapshots.collect(NOTHING)).unfinished).toEqual([])
    await writeFile(join(directory, 'draft'), '4194305 1')
    expect((await stage().snapshots.collect(NOTHING)).unfinished).toEqual([id])
    expect(await readdir(join(directory, '..'))).not.toContain(id)
  })

  it('says that a manifest is damaged', async () => {
    const id = newSnapshotId()
    const { directory } = await stage().snapshots.draft(id)
    await mkdir(join(directory, 'disk'))
    const disk: CapturedArea = { disk: { kind: 'layer', layers: [] }, diskBytes: 0 }
    await stage().snapshots.commit(id, manifestOf(newSandboxId(), disk, { id }))
    await writeFile(join(directory, 'manifest.json'), '{"version": 1')
    await expect(stage().snapshots.get(id)).rejects.toMatchObject({ code: 'snapshot_corrupt' })
    // It stays until somebody removes it, and the others do not suffer from it.
    expect((await stage().snapshots.list()).map((snapshot) => snapshot.id)).not.toContain(id)
    await stage().snapshots.collect(NOTHING)
    await stage().snapshots.remove(id, NOTHING)
    await expect(stage().snapshots.get(id)).rejects.toMatchObject({ code: 'snapshot_not_found' })
  })
}
