import { execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import type { Socket } from 'node:net'
import { dirname, join } from 'node:path'
import type { Sandbox } from '@hearth/contract'
import { readHostFacts, type Hearth } from '@hearth/engine'
import { DESCRIPTORS, machineArguments } from '../../packages/engine/src/drivers/microvm/machine-arguments.ts'
import { findMachineParts } from '../../packages/engine/src/drivers/microvm/machine-parts.ts'
import { processorsOf } from '../../packages/engine/src/drivers/microvm/machine-plan.ts'
import { emptyDisk, UPPER_DISK } from '../../packages/engine/src/drivers/microvm/upper-disk.ts'
import { commandOf, descriptorFile, liveRuntime } from './live-runtime.ts'

const HELLO = 1
const WELCOME = 2
const DESCRIPTOR = 3

/** The machine of a live sandbox, booted without keeper, confinement and anything kept from before: from spawn until its guest has answered. */
export async function qemuFloor(hearth: Hearth, sandbox: Sandbox, scratch: string): Promise<() => Promise<number>> {
  return await floorOf(hearth, sandbox, scratch, 'boot')
}

/** The same from the files that the live sandbox went on from. */
export async function qemuRestoreFloor(
  hearth: Hearth,
  sandbox: Sandbox,
  scratch: string,
): Promise<() => Promise<number>> {
  return await floorOf(hearth, sandbox, scratch, 'restore')
}

async function floorOf(
  hearth: Hearth,
  sandbox: Sandbox,
  scratch: string,
  kind: 'boot' | 'restore',
): Promise<() => Promise<number>> {
  const { paths } = hearth
  const { limits } = sandbox.info
  const { pid } = commandOf(liveRuntime(hearth, sandbox), /^qemu-system/)
  const facts = await readHostFacts()
  const parts = await findMachineParts({ paths, facts, onProblem: () => undefined }, () => undefined, false)
  const restored = kind === 'restore' ? restoredFiles(pid) : null
  const disk = restored?.disk ?? (await emptyDisk(paths.cache, limits.diskBytes))
  const upper = join(scratch, `upper-${process.pid}.ext4`)
  const files: Readonly<Record<number, string>> = {
    [DESCRIPTORS.kernel]: parts.kernel.image,
    [DESCRIPTORS.initramfs]: parts.initramfs.path,
    [DESCRIPTORS.base]: descriptorFile(pid, DESCRIPTORS.base),
    [DESCRIPTORS.upper]: upper,
    [DESCRIPTORS.memory]: restored?.memory ?? '',
    [DESCRIPTORS.state]: restored?.state ?? '',
  }
  const command = machineArguments(parts.qemu, {
    memoryBytes: limits.memoryBytes,
    processors: processorsOf(limits.cpus, facts),
    accelerator: parts.accelerator,
    capturable: restored !== null,
    volumes: 'none',
    start: restored === null ? { kind: 'boot', pids: limits.pids } : { kind: 'restore' },
  })
    // Nobody controls this one.
    .filter((word, index, all) => !isControl(word) && !isControl(all[index + 1] ?? ''))
    .map((word) =>
      word
        .replace('fd=0', `fd=${DESCRIPTOR}`)
        .replace(/\/proc\/self\/fd\/(\d+)/, (_, number: string) => files[Number(number)] ?? ''),
    )
  return async () => {
    execFileSync('cp', ['--sparse=always', disk, upper])
    try {
      return await boot(command)
    } finally {
      rmSync(upper)
    }
  }
}

/** What a machine of a template went on from. */
function restoredFiles(pid: number): { memory: string; state: string; disk: string } {
  const memory = descriptorFile(pid, DESCRIPTORS.memory)
  const state = descriptorFile(pid, DESCRIPTORS.state)
  return { memory, state, disk: join(dirname(dirname(memory)), UPPER_DISK) }
}

function isControl(word: string): boolean {
  return /(id|chardev)=control/.test(word)
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
    // When QEMU ends, its end says more.
    link.on('error', () => link.destroy())
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
