import { randomBytes } from 'node:crypto'
import { BOUNDS, HearthError } from '@hearth/contract'
import type { Link, RequestOptions } from '../link/link.ts'
import type { Messages } from '../link/messages.gen.ts'
import { exactNumber } from '../link/wire.ts'
import { openNetwork } from '../machine/link-network.ts'
import type { LaunchRequest } from './driver.ts'

const FLAGS = { makeWorkdir: 1, renewed: 2 } as const
const OTHER_FILES = 1
const CONFIRMATIONS = { hostname: 1, clock: 2, randomness: 4 } as const

/** What a guest is told of its machine. */
type Identity = Pick<LaunchRequest, 'hostname' | 'environment' | 'workdir' | 'user' | 'network' | 'signal'> & {
  readonly limits: Pick<LaunchRequest['limits'], 'openFiles' | 'pids'>
}

/** How a machine came to be. */
interface Beginning {
  /** It goes on where another stood. */
  readonly restored: boolean
  /** It is a copy of another, or becomes one of its own later: what must not be there twice is made anew. */
  readonly renewed: boolean
  /** Those that the guest mounts, in their order. */
  readonly volumes?: LaunchRequest['volumes']
  /** The files in them are not those that the copied machine knew. */
  readonly others?: boolean
}

/** Says hello and gives a new machine its identity. It may be handed out afterwards. */
export async function greet(link: Link, identity: Identity, beginning: Beginning): Promise<void> {
  const { restored, renewed, volumes = [], others = false } = beginning
  const options = { timeoutMs: BOUNDS.bootTimeoutMs, signal: identity.signal }
  // Together: the guest takes them in order, and nobody waits for the way back in between.
  const [, , confirmed] = await Promise.all([
    // By when one that goes on where another stood could take its clock, that was late. This comes before whatever it is asked.
    link.hello(options).then(() => restored && link.tellTime()),
    // Before the working directory, which may lie in one.
    volumes.length > 0 && attach(link, volumes, others, options),
    configure(link, identity, renewed),
    network(link, identity),
  ])
  if (restored || renewed) requireRenewed(confirmed)
}

/** Gives another identity to a machine that was greeted, and in which nothing has run. */
export async function identify(link: Link, identity: Identity): Promise<void> {
  const [confirmed] = await Promise.all([configure(link, identity, false), network(link, identity)])
  requireRenewed(confirmed)
}

async function network(link: Link, { network: wanted, signal }: Identity): Promise<void> {
  if (wanted !== undefined) await openNetwork(link, wanted, { timeoutMs: BOUNDS.bootTimeoutMs, signal })
}

async function attach(
  link: Link,
  volumes: LaunchRequest['volumes'],
  others: boolean,
  options: RequestOptions,
): Promise<void> {
  const readOnly = volumes.reduce((bits, volume, index) => bits | (volume.readOnly ? 1 << index : 0), 0)
  const places = volumes.map(({ path }) => path)
  await link.request('Volumes', { flags: others ? OTHER_FILES : 0, readOnly, places }, options)
}

function configure(link: Link, identity: Identity, renewed: boolean): Promise<number> {
  return link.ask(
    'Configure',
    configuration(identity, renewed),
    ({ value }) => exactNumber(value, 'what is confirmed'),
    { timeoutMs: BOUNDS.bootTimeoutMs, signal: identity.signal },
  )
}

/** SAFETY: a copy that kept the name, the clock or the random numbers of its parent is not handed out. */
function requireRenewed(confirmed: number): void {
  const missing = Object.entries(CONFIRMATIONS).filter(([, bit]) => (confirmed & bit) === 0)
  if (missing.length === 0) return
  const names = missing.map(([name]) => name).join(' and ')
  throw new HearthError('launch_failed', `the copy did not confirm that its ${names} is its own`)
}

function configuration(request: Identity, renewed: boolean): Messages['Configure'] {
  return {
    hostname: request.hostname,
    realtimeNanoseconds: BigInt(Date.now()) * 1_000_000n,
    entropy: randomBytes(32),
    environment: Object.entries(request.environment).map(([name, value]) => `${name}=${value}`),
    workdir: request.workdir,
    user: request.user,
    openFiles: request.limits.openFiles,
    pids: request.limits.pids,
    retainedOutputBytes: BOUNDS.retainedOutputBytes,
    flags: FLAGS.makeWorkdir | (renewed ? FLAGS.renewed : 0),
  }
}
