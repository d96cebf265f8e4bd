import { mkdir, open, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { HearthError } from '@hearth/contract'
import { readKeeper } from '../../host/keeper-process.ts'
import { descriptorPath } from './confinement.ts'
import { ControlSocket } from './control-socket.ts'
import { DESCRIPTORS, memoryMebibytes } from './machine-arguments.ts'
import { SAVED_STATE } from './machine-plan.ts'
import { MemoryCopy } from './memory-copy.ts'

/** What a captured machine consists of, besides its disk. */
export function capturedFiles(directory: string): { readonly memory: string; readonly state: string } {
  return { memory: join(directory, 'ram'), state: join(directory, 'state') }
}

interface CaptureOrder {
  readonly guest: string
  /** Of the sandbox. */
  readonly directory: string
  readonly memoryBytes: number
  /** Its writable disk. */
  readonly disk: string
  /** Where the files go; it is made, and is not there when this fails. */
  readonly target: string
  /** Called while the machine stands still. */
  readonly captureDisk: () => Promise<void>
  /** Null: it goes on. Otherwise it does not once everything is written, and this is called then. */
  readonly stop: (() => Promise<void>) | null
}

const CONNECT_MS = 10_000
const COMMAND_MS = 30_000
const MiB = 1024 * 1024
/** The state of the few devices of a machine is a tenth of a megabyte. */
const MOST_STATE_BYTES = 16 * MiB
/** There while the machine stands still, so that whoever resumes it knows that it must let it go on. */
const CAPTURING = 'capturing'

/** Writes down a running machine whose guest is frozen. It goes on, whatever happens, unless it shall stop and all went well. */
export async function captureMachine(order: CaptureOrder): Promise<{ pausedMs: number; bytes: number }> {
  await mkdir(order.target, { mode: 0o700 })
  try {
    return await captureInto(order)
  } catch (error) {
    await rm(order.target, { recursive: true, force: true })
    throw error
  }
}

async function captureInto(order: CaptureOrder): Promise<{ pausedMs: number; bytes: number }> {
  const { directory } = order
  const keeper = readKeeper(directory)
  if (keeper === null) throw new HearthError('sandbox_ended', `nobody keeps the sandbox in ${directory}`)
  const files = capturedFiles(order.target)
  const machine = {
    keeper: keeper.pid,
    descriptor: DESCRIPTORS.memory,
    bytes: memoryMebibytes(order.memoryBytes) * MiB,
    disk: order.disk,
  }
  await using copy = new MemoryCopy(order.guest, machine, files.memory)
  using control = await ControlSocket.open(directory, CONNECT_MS)
  await copy.ready()
  const finish = async (): Promise<number> => {
    await takeState(join(directory, SAVED_STATE), files.state)
    return await copy.written()
  }
  await writeFile(join(directory, CAPTURING), '')
  const pausedMs = await standingStill(control, order.stop === null, async () => {
    const saved = control
      .execute('xen-save-devices-state', { filename: descriptorPath(DESCRIPTORS.saved), live: false }, COMMAND_MS)
      // After the devices: saving them may be the last that writes to the machine's memory.
      .then(() => copy.copy())
    // Both have an end before the machine goes on, also when the other failed.
    const outcomes = await Promise.allSettled([saved, order.captureDisk()])
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
    if (order.stop === null) return
    // Nothing may fail any more when it is not to go on.
    await finish()
    await order.stop()
  })
  if (order.stop === null) await rm(join(directory, CAPTURING))
  return { pausedMs, bytes: await finish() }
}

/** When the work begins, all that QEMU had to write to its disks is in the hands of the host's kernel. */
async function standingStill(control: ControlSocket, goesOn: boolean, work: () => Promise<void>): Promise<number> {
  const began = performance.now()
  await control.execute('stop', {}, COMMAND_MS)
  let whole = false
  try {
    await work()
    whole = true
  } finally {
    if (goesOn || !whole) await control.execute('cont', {}, COMMAND_MS)
  }
  return performance.now() - began
}

/** SAFETY: QEMU wrote it, and may have been taken over: it is bounded here, and read by a confined QEMU alone. */
async function takeState(from: string, to: string): Promise<void> {
  const handle = await open(from)
  try {
    const { size } = await handle.stat()
    if (size === 0 || size > MOST_STATE_BYTES) {
      throw new HearthError('internal', `the state of the machine’s devices has ${size} bytes`)
    }
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(size), 0, size, 0)
    // As with the memory: for QEMU's users, through a descriptor.
    await writeFile(to, buffer.subarray(0, bytesRead), { mode: 0o444 })
  } finally {
    await handle.close()
  }
}

/** Lets a machine go on that stands still since it was captured, or whose engine died in a capture. */
export async function recoverMachine(directory: string): Promise<void> {
  const marker = join(directory, CAPTURING)
  const interrupted = await stat(marker).then(
    () => true,
    () => false,
  )
  if (!interrupted) return
  using control = await ControlSocket.open(directory, CONNECT_MS)
  await control.execute('cont', {}, COMMAND_MS)
  await rm(marker, { force: true })
}
