import { BOUNDS, type Limits } from '@hearth/contract'
import type { Link, RequestOptions } from '../link/link.ts'
import type { MachineNetwork } from './machine.ts'

/** Tells the guest that names can be reached, or that others can than before. */
export async function openNetwork(link: Link, network: MachineNetwork, options: RequestOptions = {}): Promise<void> {
  link.serve(network.gateway)
  await link.request('Network', { authority: network.authority }, options)
}

/** The base environment of commands that are started from now on. All else stays as it is. */
export async function setEnvironment(
  link: Link,
  environment: Readonly<Record<string, string>>,
  limits: Pick<Limits, 'openFiles' | 'pids'>,
): Promise<void> {
  await link.request('Configure', {
    hostname: '',
    realtimeNanoseconds: 0n,
    entropy: new Uint8Array(0),
    environment: Object.entries(environment).map(([name, value]) => `${name}=${value}`),
    workdir: '',
    user: '',
    openFiles: limits.openFiles,
    pids: limits.pids,
    retainedOutputBytes: BOUNDS.retainedOutputBytes,
    flags: 0,
  })
}
