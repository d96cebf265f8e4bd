import type { Socket } from 'node:net'
import { HearthError } from '@hearth/contract'
import type { ClaimPlan, LaunchPlan, Step } from '../drivers/launch-plan.ts'
import { encodeFrame } from '../link/encode-frame.ts'
import { DECODERS, MESSAGE_TYPES, type Messages } from '../link/messages.gen.ts'
import { HEADER_BYTES, PayloadReader } from '../link/wire.ts'
import type { SandboxCgroup } from './cgroups.ts'
import type { KeeperNursery } from './keeper-nursery.ts'

/** A keeper that sits in its cgroup and waits to be told what to launch. If we go away first, it ends. */
export interface PreparedKeeper {
  readonly cgroup: SandboxCgroup
  readonly socket: Socket
}

export async function prepareKeeper(nursery: KeeperNursery, cgroup: SandboxCgroup): Promise<PreparedKeeper> {
  const socket = await nursery.keeper()
  socket.on('error', () => socket.destroy())
  await keeperCall(socket, 'KeeperPrepare', { cgroups: cgroup.directories })
  return { cgroup, socket }
}

/** Starts the runtime. From then on the keeper's socket is the link. */
export async function launchOnKeeper(
  keeper: PreparedKeeper,
  directory: string,
  plan: LaunchPlan,
  writes: readonly string[],
): Promise<number> {
  const namespace = plan.userNamespace
  const done = await keeperCall(keeper.socket, 'KeeperLaunch', {
    directory,
    argv: plan.argv,
    environment: Object.entries(plan.environment).map(([name, value]) => `${name}=${value}`),
    steps: plan.steps.flatMap(stepWords),
    writes,
    files: plan.files.flatMap((file) => [`${file.descriptor}${FILE_KINDS[file.kind ?? 'file']}`, file.path]),
    idBase: namespace?.base ?? 0,
    idCount: namespace?.count ?? 0,
    flags:
      (namespace?.enter === true ? 1 : 0) |
      (namespace?.rootless === true ? 2 : 0) |
      (plan.withoutMembarrier === true ? 4 : 0) |
      (plan.ahead === true ? 8 : 0) |
      (plan.lane === true ? 16 : 0),
    cleanup: plan.cleanup,
  })
  return Number(done.value)
}

/** Makes a machine of a runtime that was launched ahead of time. From then on the keeper's socket is the link. */
export async function claimOnKeeper(
  keeper: PreparedKeeper,
  directory: string,
  plan: ClaimPlan,
  writes: readonly string[],
): Promise<void> {
  await keeperCall(keeper.socket, 'KeeperClaim', {
    directory,
    writes,
    steps: plan.steps.flatMap(stepWords),
    server: plan.server,
    root: plan.root,
    binds: plan.binds.flatMap(({ source, target }) => [source, target]),
    gate: plan.gate,
  })
}

const FILE_KINDS = { file: '', late: '+', socket: 's' } as const

function stepWords(step: Step): string[] {
  switch (step.kind) {
    case 'mkdir':
      return ['mkdir', step.path, step.mode.toString(8)]
    case 'chown':
      return ['chown', step.path, String(step.uid), String(step.gid)]
    case 'subvolume':
      return ['subvolume', step.path, String(step.limitBytes)]
    case 'clone':
      return ['clone', step.source, step.path, String(step.limitBytes)]
    case 'group':
      return ['group', step.path, step.group, String(step.limitBytes)]
    case 'copy':
      return ['copy', step.source, step.path]
    case 'fifo':
      return ['fifo', step.path]
    case 'bind':
      return ['bind', step.source, step.target, step.options.join(',') || '-']
    case 'overlay':
      return ['overlay', step.target, step.lower, step.upper, step.work, step.options.join(',') || '-']
    case 'tmpfs':
      return ['tmpfs', step.target, step.data]
    case 'unlinked':
    case 'place':
      return [step.kind, step.root, step.path]
  }
}

async function keeperCall<Name extends 'KeeperPrepare' | 'KeeperLaunch' | 'KeeperClaim'>(
  socket: Socket,
  name: Name,
  message: Messages[Name],
): Promise<Messages['Done']> {
  socket.write(encodeFrame(name, message))
  const { type, payload } = await readFrame(socket, name)
  const reader = new PayloadReader(payload)
  if (type === MESSAGE_TYPES.Done) return DECODERS.Done(reader)
  if (type !== MESSAGE_TYPES.Failed)
    throw new HearthError('internal', `the keeper answered ${name} with message ${type}`)
  const failed = DECODERS.Failed(reader)
  throw new HearthError('launch_failed', `${failed.what} (errno ${failed.errno})`, { context: { errno: failed.errno } })
}

/** Reads exactly one frame and leaves what follows it in the socket, for the link. */
async function readFrame(socket: Socket, during: string): Promise<{ type: number; payload: Buffer }> {
  const header = await readExactly(socket, HEADER_BYTES, during)
  const length = header.readUInt32LE(0)
  const payload = length === 0 ? Buffer.alloc(0) : await readExactly(socket, length, during)
  return { type: header.readUInt8(4), payload }
}

async function readExactly(socket: Socket, count: number, during: string): Promise<Buffer> {
  for (;;) {
    const chunk = socket.read(count) as Buffer | null
    if (chunk !== null && chunk.length === count) return chunk
    if (socket.readableEnded || socket.destroyed) {
      throw new HearthError('launch_failed', `the keeper went away during ${during}`)
    }
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        for (const event of ['readable', 'end', 'close'] as const) socket.off(event, wake)
        resolve()
      }
      for (const event of ['readable', 'end', 'close'] as const) socket.once(event, wake)
    })
  }
}
