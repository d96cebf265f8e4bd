import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../packages/engine/src/testing/free-port.ts'

const START_MS = 5000

/** Debian's tinyproxy: what people put in front of a sandbox who want no more than CONNECT. */
export interface ConnectProxy extends AsyncDisposable {
  readonly port: number
}

/** Null where it is not installed. */
export async function startConnectProxy(): Promise<ConnectProxy | null> {
  const directory = await mkdtemp(join(tmpdir(), 'hearth-proxy-'))
  const port = await freePort()
  const file = join(directory, 'configuration')
  await writeFile(
    file,
    `Port ${port}\nListen 127.0.0.1\nAllow 127.0.0.1\nMaxClients 200\nTimeout 600\nLogLevel Critical\n`,
  )
  const child = spawn('tinyproxy', ['-d', '-c', file], { stdio: 'ignore' })
  const failed = once(child, 'error').then(() => false)
  const ended = once(child, 'exit').catch(() => undefined)
  const end = async (): Promise<void> => {
    if (child.pid !== undefined && child.kill()) await ended
    await rm(directory, { recursive: true, force: true })
  }
  if (await Promise.race([failed, listens(port)])) return { port, [Symbol.asyncDispose]: end }
  await end()
  return null
}

async function listens(port: number): Promise<boolean> {
  for (const until = performance.now() + START_MS; performance.now() < until; await sleep(20)) {
    const socket = connect(port, '127.0.0.1')
    const reached = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    socket.destroy()
    if (reached) return true
  }
  return false
}
