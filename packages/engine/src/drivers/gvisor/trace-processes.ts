import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { HearthError } from '@hearth/contract'
import { onAbort } from '../../link/abort.ts'

const REASON_CHARACTERS = 300

/**
 * What the kernel of a running sandbox tells of its processes, until the reader goes away. The session is not part of a checkpoint, and
 * whoever dies on the host, the kernel goes on: what it cannot say is dropped.
 */
export async function* traceProcesses(guest: string, socket: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const helper = spawn(guest, ['trace', socket], { env: {}, stdio: ['ignore', 'pipe', 'pipe'] })
  const failed = new Promise<string>((resolve) => helper.once('error', (error) => resolve(error.message)))
  const said = Promise.race([failed, text(helper.stderr)])
  const release = onAbort(signal, () => void helper.kill())
  try {
    yield* helper.stdout as AsyncIterable<Uint8Array>
    // With its sandbox it ends without a word, and whoever reads knows that the sandbox has ended.
    const reason = (await said).trim().slice(0, REASON_CHARACTERS)
    if (reason !== '') throw new HearthError('watch_failed', `its processes cannot be followed: ${reason}`)
  } finally {
    release()
    helper.kill()
  }
}
