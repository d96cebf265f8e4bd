import {
  findExcess,
  findSandboxExcess,
  HearthError,
  isAtLeast,
  isBelow,
  latestEnd,
  type Grant,
  type Limits,
  type Sandbox,
  type SandboxSpec,
} from '@hearth/contract'
import type { Leases } from '../machines/leases.ts'
import type { SandboxMaker } from './delegate-options.ts'
import { grantOfFork } from './grant-of-run.ts'
import { tooMuch } from './plan.ts'

/** The machine of a sub-agent as it is asked for. */
export interface WantedMachine {
  readonly kind: 'fork' | 'fresh'
  /** Of the sub-agent, and of the run that it works for. */
  readonly grant: Grant
  readonly holder: Grant
  readonly origin: Sandbox
  readonly workdir: string
  readonly metadata: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

interface Made {
  readonly sandbox: Sandbox
  /** The last instant that it may live to. */
  readonly until: number
}

/**
 * Makes it, on a lease, with what its files are to be. SAFETY: what is enforced in it is enforced by the machine: policy, secrets, limits and
 * files are of its grant from its beginning on, whatever its model does.
 */
export async function makeMachine(
  wanted: WantedMachine,
  hearth: SandboxMaker | undefined,
  leases: Leases,
): Promise<Made> {
  const { grant, origin, workdir, signal } = wanted
  const until = latestEnd(grant, Date.now())
  const ttlMs = Math.min(leases.leaseMs, Math.floor(until - Date.now()))
  if (ttlMs < 1000) throw refusal('the time that its machine may live for is over')
  const machine = wanted.kind === 'fork' ? await fork(wanted, ttlMs) : await create(wanted, hearth, ttlMs)
  leases.hold(machine, until)
  try {
    requireWithin(machine, grant)
    await machine.files.makeDirectory(workdir, { parents: true })
    if (wanted.kind === 'fresh') await copyIn(origin, machine, workdir, grant.paths.read, signal)
    return { sandbox: machine, until }
  } catch (error) {
    leases.drop(machine)
    await machine.kill()
    throw error
  }
}

/** Nothing runs in it of what ran in its origin, which has more rights. */
async function fork({ grant, holder, origin, metadata, signal }: WantedMachine, ttlMs: number): Promise<Sandbox> {
  const excess = findExcess(grantOfFork(origin, holder, grant), grant)
  if (excess.length > 0) {
    throw refusal(
      `a fork has all that your machine has, so that it cannot have less; ask for a fresh one. ${tooMuch(excess)}`,
    )
  }
  const policy = grant.policy === 'any' ? {} : { policy: grant.policy }
  const { children } = await origin.fork(1, { memory: 'none', ttlMs, metadata, ...policy, signal })
  const [child] = children
  if (child === undefined) throw new HearthError('internal', 'a fork has too few children')
  return child
}

async function create(
  { grant, origin, metadata, signal }: WantedMachine,
  hearth: SandboxMaker | undefined,
  ttlMs: number,
): Promise<Sandbox> {
  if (hearth === undefined) throw refusal('there are no fresh machines here: ask for a fork')
  const { info } = origin
  const { templates } = grant
  const template = templates === 'any' || templates.includes(info.template) ? info.template : templates[0]
  if (template === undefined) throw refusal('no template is granted')
  const spec: SandboxSpec = {
    template,
    ...(isAtLeast(info.rung, grant.atLeast) ? { rung: info.rung } : { atLeast: grant.atLeast }),
    limits: leastOf(info.limits, grant.limits),
    secrets: grant.secrets === 'any' ? [] : grant.secrets.map((secret) => ({ secret })),
    ttlMs,
    metadata,
    ...(grant.policy === 'any' ? {} : { policy: grant.policy }),
  }
  return await hearth.create(spec, { signal })
}

function leastOf(limits: Limits, granted: Grant['limits']): Limits {
  const entries = Object.entries(limits) as [keyof Limits, number][]
  return Object.fromEntries(
    entries.map(([name, value]) => [name, Math.min(value, granted[name] ?? Infinity)]),
  ) as unknown as Limits
}

/** Whoever made it is not taken at its word: what it says of the machine is compared with the grant. */
function requireWithin({ info }: Sandbox, grant: Grant): void {
  const { template, rung, limits } = info
  // How long it lives is a matter of its lease, counted by the clock of this host.
  const excess = findSandboxExcess(
    { policy: {}, secrets: [], template, rung, limits, createdAt: 0, expiresAt: 0 },
    grant,
  )
  if (excess.length > 0) throw refusal(`its machine would be more than it may be. ${tooMuch(excess)}`)
}

/** What of the files it may read. */
async function copyIn(
  from: Sandbox,
  to: Sandbox,
  workdir: string,
  read: Grant['paths']['read'],
  signal: AbortSignal,
): Promise<void> {
  const granted = read === 'any' ? [workdir] : read
  const places = granted.flatMap((path) => (isBelow(workdir, path) ? [workdir] : isBelow(path, workdir) ? [path] : []))
  for (const place of new Set(places)) {
    if (!(await from.files.exists(place))) continue
    const { type, mode } = await from.files.stat(place)
    if (type === 'directory') {
      await to.files.makeDirectory(place, { parents: true })
      await to.files.extract(place, from.files.archive(place, { signal }), { signal })
    } else if (type === 'file') await to.files.write(place, from.files.readStream(place, { signal }), { mode, signal })
  }
}

function refusal(message: string): HearthError {
  return new HearthError('grant_exceeded', message)
}
