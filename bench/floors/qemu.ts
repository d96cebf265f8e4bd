import { execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import type { Sandbox } from '@hearth/contract'
import type { Hearth } from '@hearth/engine'
import { commandOf, descriptorFile, liveRuntime } from './live-runtime.ts'

const HELLO = 1
const WELCOME = 2
const DESCRIPTOR = 3

/** The same machine without keeper and confinement: from spawn until its guest has answered. */
export function qemuFloor(hearth: Hearth, sandbox: Sandbox, scratch: string): () => Promise<number> {
  const { pid, argv } = commandOf(liveRuntime(hearth, sandbox), /^qemu-system/)
  const upper = join(scratch, 'upper.ext4')
  let original = ''
  const command = argv.map((word) =>
    word.replace('fd=0', `fd=${DESCRIPTOR}`).replace(/\/proc\/self\/fd\/(\d+)/, (_, number: string) => {
      const file = descriptorFile(pid, Number(number))
      if (!argv.some((each) => each.startsWith('id=upper') && each.includes(`/fd/${number},`))) return file
      original = file
      return upper
    }),
  )
  return async () => {
    if (original !== '') execFileSync('cp', ['--sparse=always', original, upper])
    return await boot(command)
  }
}

async function boot(command: readonly string[]): Promise<number> {
  const [program = '', ...parameters] = command
  const start = performance.now()
  const child = spawn(program, parameters, { env: {}, stdio: ['ignore', 'ignore', 'pipe', 'pipe'] })
  const exited = new Promise((resolve) => child.once('exit', resolve))
  let problem = ''
  child.stderr?.on('data', (data: Buffer) => {
    problem = `${problem}${data.toString()}`.slice(-500)
  })
  try {
    const link = child.stdio[DESCRIPTOR] as Socket
    link.write(hello())
    const type = await new Promise<number>((resolve, reject) => {
      link.once('data', (data: Buffer) => resolve(data.readUInt8(4)))
      child.once('error', reject)
      child.once('exit', (code) => reject(new Error(`QEMU ended with ${String(code)}: ${problem}`)))
    })
    if (type !== WELCOME) throw new Error(`the guest answered with message ${type}`)
    return performance.now() - start
  } finally {
    child.kill('SIGKILL')
    await exited
  }
}

/** The first frame of the link; see guest/protocol.md. */
function hello(): Buffer {
  const nonce = randomBytes(16)
  const frame = Buffer.alloc(12 + 8 + nonce.length)
  frame.writeUInt32LE(8 + nonce.length, 0)
  frame.writeUInt8(HELLO, 4)
  frame.writeUInt32LE(1, 12)
  frame.writeUInt32LE(nonce.length, 16)
  nonce.copy(frame, 20)
  return frame
}
