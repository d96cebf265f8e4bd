import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { describeSnapshotStore } from './testing/describe-snapshot-store.fixture.ts'
import { canMountBtrfs, NativeBtrfs } from './testing/native-btrfs.fixture.ts'
import { Stage } from './testing/stage.fixture.ts'

const root = process.getuid?.() === 0
const USER = 4242

if (root) describeSnapshotStore('btrfs', () => Stage.open({ btrfs: '512M' }))
if (canMountBtrfs) {
  let disk: NativeBtrfs | null = null
  describeSnapshotStore('btrfs that the home lies on', async () => {
    disk = new NativeBtrfs('1G')
    const host = disk.mount(join(disk.folder, 'host'))
    disk.enableQuotas(host)
    return await Stage.open({ directory: host, btrfs: 'native' })
  })
  afterAll(async () => await disk?.[Symbol.asyncDispose]())
}
describeSnapshotStore(root ? 'layers, as root' : 'layers, as a user', () => Stage.open())

it.runIf(root)('passes the same suite as a user without privileges', { timeout: 120_000 }, async () => {
  const home = await mkdtemp(join(tmpdir(), 'hearth-user-'))
  await chmod(home, 0o777)
  try {
    const vitest = join(import.meta.dirname, '../../../../node_modules/vitest/vitest.mjs')
    const child = spawn(
      process.execPath,
      [vitest, 'run', '--project', 'unit', import.meta.filename, '--no-cache', '--configLoader', 'native'],
      {
        uid: USER,
        gid: USER,
        cwd: join(import.meta.dirname, '../../../..'),
        env: { PATH: process.env['PATH'], HOME: home, TMPDIR: home, HEARTH_GUEST: process.env['HEARTH_GUEST'] },
      },
    )
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
    const [code] = (await once(child, 'exit')) as [number | null]
    expect(code, output).toBe(0)
  } finally {
    await rm(home, { recursive: true, force: true })
  }
})
