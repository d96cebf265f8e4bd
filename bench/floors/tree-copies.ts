import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Sandbox } from '@hearth/contract'
import type { HostPaths } from '@hearth/engine'
import { runStore } from '../../packages/engine/src/store/store-helper.ts'
import { timed } from '../context.ts'
import type { NamedFloor } from './named-floor.ts'

const execute = promisify(execFile)

/** What the files of a sandbox on btrfs cost to copy, without a machine around them. */
export function treeCopyFloors({ guest, store }: HostPaths, sandbox: Sandbox): NamedFloor[] {
  const area = join(store, 'areas', sandbox.id)
  const directory = join(store, `bench-${process.pid}`)
  const target = join(directory, 'copy')
  const copy = async (work: () => Promise<unknown>): Promise<number> => {
    await mkdir(directory, { mode: 0o700 })
    try {
      return await timed(work)
    } finally {
      await runStore(guest, 'remove', directory)
    }
  }
  const cp = (reflink: string) => () => copy(() => execute('cp', ['-a', `--reflink=${reflink}`, area, target]))
  return [
    { name: 'btrfs snapshot', sample: () => copy(() => runStore(guest, 'snapshot', area, target, 'ro')) },
    { name: 'reflink copy', sample: cp('always') },
    { name: 'plain copy', sample: cp('never') },
  ]
}
