// For tests and measurements: the real guest as a child of this process, its link on a socket pair.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { LinkMachine, type LinkMachineOptions } from './link-machine.ts'
import type { MachineEnd } from './machine.ts'
import { Link } from '../link/link.ts'

const GUEST_DIRECTORY = join(import.meta.dirname, '../../../../guest')
const BINARY = join(GUEST_DIRECTORY, 'build/hearth-guest')

export interface TestGuest extends AsyncDisposable {
  readonly link: Link
  readonly machine: LinkMachine
  readonly child: ChildProcess
}

/** The path of the guest, built if it is not there. */
export function guestBinary(): string {
  if (!existsSync(BINARY)) execFileSync('make', ['-C', GUEST_DIRECTORY], { stdio: 'inherit' })
  return BINARY
}

/** Starts a guest on this host, without any isolation, and greets it. */
export async function startGuest(options: Pick<LinkMachineOptions, 'oomKills' | 'hostStats'> = {}): Promise<TestGuest> {
  // A socket of Node's own making is only bidirectional from descriptor 3 on.
  const child = spawn('/bin/sh', ['-c', 'exec "$0" 0<&3 1>&3 3>&-', guestBinary()], {
    stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
  })
  const exited = new Promise<MachineEnd>((resolve) => {
    child.once('exit', (code, signal) => resolve({ reason: 'exited', detail: signal ?? String(code) }))
  })
  const link = new Link(child.stdio[3] as Socket)
  await link.hello({ timeoutMs: 10_000 })
  await link.request('Configure', {
    hostname: '',
    realtimeNanoseconds: 0n,
    entropy: new Uint8Array(0),
    environment: ['PATH=/usr/local/bin:/usr/bin:/bin', 'HOME=/tmp'],
    workdir: '/tmp',
    user: '',
    openFiles: 1024,
    pids: 0,
    retainedOutputBytes: 1024 * 1024,
    flags: 0,
  })
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL')
    await exited
  }
  const machine = new LinkMachine({ link, kill, release: async () => {}, ended: exited, ...options })
  return { link, machine, child, [Symbol.asyncDispose]: () => machine.kill() }
}
