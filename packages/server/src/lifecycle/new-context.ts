import { Records } from '../record/records.ts'
import { usedShare } from '../workspaces/collecting.ts'
import { WorkspaceServices } from '../workspaces/workspace-services.ts'
import { Admission, measureHost } from './admission.ts'
import type { Context } from './context.ts'
import { EarlyLaunches } from './early-launches.ts'
import { becomeIdle, expireAsleep } from './idling.ts'
import { launchMachine } from './launch-machine.ts'
import { LEASE_MS } from './lease.ts'
import { LiveSandboxes } from './live-sandboxes.ts'
import type { LocalControlPlaneOptions } from './local-control-plane.ts'
import { endMadeBy } from './orphans.ts'
import { SILENT_MS } from './silent-hosts.ts'

/** What all parts of one control plane share, when nothing has been looked at yet. */
export function newContext(options: LocalControlPlaneOptions, hostId: string): Context {
  const {
    store,
    hearth,
    leaseMs = LEASE_MS,
    silentMs = SILENT_MS,
    onProblem: report = () => undefined,
    onStep: step = () => undefined,
    storeShare = async () => await usedShare(hearth.paths),
  } = options
  const underWay: Context['underWay'] = new Map()
  const context: Context = {
    store,
    hearth,
    hostId,
    leaseMs,
    silentMs,
    live: new LiveSandboxes({
      idle: (live) => void becomeIdle(context, live),
      expired: (live) => void expireAsleep(context, live),
      removed: ({ record }) => {
        context.records.forget(record.id)
        // Who ends it on request waits for this; at its own end nobody does.
        endMadeBy(context, record).catch((error: unknown) => report(`what ${record.id} has made`, error))
      },
    }),
    admission: new Admission(() => measureHost(hearth.paths.home, hearth.pool.heldBytes), options.admission),
    early: new EarlyLaunches((row, signal) => launchMachine(context, row, signal)),
    records: options.records ?? new Records(store, { onProblem: report }),
    underWay,
    snapshotsInWork: new Set(),
    volumesInWork: new Set(),
    // Checkouts that workspaces are copied of are nobody's but the server's.
    volumeOwners: [async () => (await store.seeds.ofHost(hostId, ['making', 'ready', 'deleting'])).map(({ id }) => id)],
    workspaces: new WorkspaceServices({ store, hearth, hostId, leaseMs, underWay, step, report, storeShare }),
    step,
    report,
  }
  return context
}
