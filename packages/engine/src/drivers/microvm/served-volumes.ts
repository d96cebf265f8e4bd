import { chmod, chown, open, truncate, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { AttachedVolume } from '../driver.ts'
import type { InheritedFile, Step } from '../launch-plan.ts'
import { stagePath } from '../staging/staged-root.ts'
import { stageVolumes } from '../staging/staged-volumes.ts'
import { makeOnce } from '../staging/write-once.ts'
import { DESCRIPTORS } from './machine-arguments.ts'

/** A file in the sandbox's directory that says how many files of its volumes are in use that have no name any more. */
const HELD = 'held'

export interface VolumeService {
  readonly steps: readonly Step[]
  readonly files: readonly InheritedFile[]
  /** Before the command of the machine. */
  readonly argv: readonly string[]
}

/**
 * `hearth-guest volumes` beside the machine: QEMU itself has no way to the files. What a machine asks comes through a port, and is answered
 * by a process that can reach the volumes and nothing else.
 */
export async function serveVolumes(
  volumes: readonly AttachedVolume[],
  machine: { readonly directory: string; readonly guest: string; readonly idBase: number; readonly entered: boolean },
): Promise<VolumeService> {
  const { directory, guest, idBase, entered } = machine
  const held = join(directory, HELD)
  await writeFile(held, new Uint8Array(4), { mode: 0o600 })
  await chown(held, idBase, idBase)
  const stage = stagePath(directory, true)
  const programs = join(stage, 'guest')
  const staged = stageVolumes(volumes, stage, idBase)
  const own = [stage, programs].map((path) => ({ kind: 'mkdir', path, mode: 0o755 }) as const)
  const { volumes: stream, window } = DESCRIPTORS
  const numbers = [stream, window, DESCRIPTORS.held, entered ? 0 : idBase].map(String)
  return {
    steps: [...own, { kind: 'bind', source: dirname(guest), target: programs, options: ['ro'] }, ...staged.steps],
    files: [{ descriptor: DESCRIPTORS.held, path: held }],
    argv: [
      join(programs, basename(guest)),
      'volumes',
      ...numbers,
      join(stage, 'volumes'),
      ...volumes.map(({ readOnly }) => (readOnly ? 'ro' : 'rw')),
      '--',
    ],
  }
}

/** Of the window, as guest/src/volumes/volume-wire.h has it. */
const WINDOW_BYTES = 8 * 256 * 1024

/** What a machine without volumes has in the place of the window. */
export async function unservedVolumes(cache: string): Promise<VolumeService> {
  const path = await makeOnce(join(cache, 'microvm-disks', `window-${WINDOW_BYTES}`), async (draft) => {
    await writeFile(draft, '')
    await truncate(draft, WINDOW_BYTES)
    await chmod(draft, 0o444)
  })
  return { steps: [], files: [{ descriptor: DESCRIPTORS.window, path }], argv: [] }
}

/** How many files of its volumes are in use that have no name, and so are in no copy of them. */
export async function heldFiles(directory: string): Promise<number> {
  const handle = await open(join(directory, HELD)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (handle === null) return 0
  try {
    const { buffer } = await handle.read(Buffer.alloc(4), 0, 4, 0)
    return buffer.readUInt32LE(0)
  } finally {
    await handle.close()
  }
}
