import { randomBytes } from 'node:crypto'
import { BOUNDS, HearthError } from '@hearth/contract'
import type { Link } from '../link/link.ts'
import type { Messages } from '../link/messages.gen.ts'
import { exactNumber } from '../link/wire.ts'
import { openNetwork } from '../machine/link-network.ts'
import type { LaunchRequest } from './driver.ts'

const FLAGS = { makeWorkdir: 1, renewed: 2 } as const
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
}

/** Says hello and gives a new machine its identity. It may be handed out afterwards. */
export async function greet(link: Link, identity: Identity, { restored, renewed }: Beginning): Promise<void> {
  const options = { timeoutMs: BOUNDS.bootTimeoutMs, signal: identity.signal }
  // Together: the guest takes them in order, and nobody waits for the way back in between.
  const [, confirmed] = await Promise.all([
    // By when one that goes on where another stood could take its clock, that was late. This comes before whatever it is asked.
    link.hello(options).then(() => restored && link.tellTime()),
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
