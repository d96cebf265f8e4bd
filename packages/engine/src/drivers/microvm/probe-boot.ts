import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { encodeFrame, launchOnKeeper, startKeeper } from '../../host/keeper.ts'
import { endKeeper } from '../../host/keeper-process.ts'
import { DECODERS, MESSAGE_TYPES } from '../../link/messages.gen.ts'
import { HEADER_BYTES, PayloadReader } from '../../link/wire.ts'
import type { LaunchPlan } from '../launch-plan.ts'

/** More than any guest says before its Welcome. */
const ANSWER_BYTES = 64 * 1024

/** Starts a machine as every launch does, waits until its guest answers, and ends it. Throws with what QEMU said when there is no answer. */
export async function bootOnce(guest: string, cache: string, plan: LaunchPlan, timeoutMs: number): Promise<void> {
  await mkdir(cache, { recursive: true })
  const directory = await mkdtemp(join(cache, 'probe-'))
  const keeper = await startKeeper(guest, { directories: [] })
  try {
    await launchOnKeeper(keeper, directory, plan, [])
    await greet(keeper.socket, timeoutMs)
  } catch (cause) {
    const log = await readFile(join(directory, 'runtime.log'), 'utf8').catch(() => '')
    throw new Error(`${(cause as Error).message}${log.trim() === '' ? '' : `: ${log.trim().slice(-500)}`}`, { cause })
  } finally {
    if (!keeper.socket.destroyed) keeper.socket.write(encodeFrame('KeeperEnd', {}))
    await endKeeper(directory)
    keeper.socket.destroy()
    await rm(directory, { recursive: true, force: true })
  }
}

/** Says hello and waits for the answer with the same nonce. */
async function greet(socket: Socket, timeoutMs: number): Promise<void> {
  const nonce = randomBytes(16)
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`no answer from the guest in ${timeoutMs / 1000} seconds`)),
      timeoutMs,
    )
    let received = Buffer.alloc(0)
    const finish = (error: Error | null): void => {
      clearTimeout(timer)
      socket.removeAllListeners('data')
      if (error === null) resolve()
      else reject(error)
    }
    socket.once('close', () => finish(new Error('QEMU ended before its guest answered')))
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      if (welcomed(received, nonce)) finish(null)
      else if (received.length > ANSWER_BYTES) finish(new Error('the guest answered with something else'))
    })
    socket.write(encodeFrame('Hello', { version: 1, nonce }))
  })
}

function welcomed(received: Buffer, nonce: Buffer): boolean {
  if (received.length < HEADER_BYTES || received.readUInt8(4) !== MESSAGE_TYPES.Welcome) return false
  const end = HEADER_BYTES + received.readUInt32LE(0)
  if (received.length < end) return false
  return nonce.equals(DECODERS.Welcome(new PayloadReader(received.subarray(HEADER_BYTES, end))).nonce)
}
