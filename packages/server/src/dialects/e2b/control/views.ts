import { BOUNDS, type SandboxId, type SandboxState, type SandboxView } from '@hearth/contract'
import type { Caller } from '../../../control-plane.ts'
import type { E2b } from '../e2b.ts'
import { toE2bId } from '../ids.ts'
import { markOf, visibleMetadata } from '../mark.ts'
import { volumeNames } from '../volumes/volume-routes.ts'
import { networkOf } from './network.ts'

/** The version of envd that clients are told: it has all that this dialect answers. */
export const ENVD_VERSION = '0.6.13'

/**
 * One that is paused when its time is over has its deadline this much later, so that something ends it also when nobody comes back.
 * When it is to be paused follows from the deadline alone, which outlives a restart.
 */
export const PAUSED_MS = BOUNDS.maximumTtlMs / 2

export const RUNNING_STATES: readonly SandboxState[] = ['running', 'resuming', 'waking']
export const PAUSED_STATES: readonly SandboxState[] = ['pausing', 'paused', 'hibernating', 'hibernated']

export function isPaused({ state }: Pick<SandboxView, 'state'>): boolean {
  return PAUSED_STATES.includes(state)
}

export type Timed = Pick<SandboxView, 'state' | 'createdAt' | 'expiresAt' | 'metadata'>

/** When its time is over: then it ends, or is paused. */
export function endOf(view: Timed): number {
  if (view.expiresAt === null) return Date.now() + BOUNDS.maximumTtlMs
  return Date.parse(view.expiresAt) - (isToBePaused(view) ? PAUSED_MS : 0)
}

/** Not one whose deadline was set through another API, without the time for being paused: then it ends, as it was asked for there. */
function isToBePaused(view: Timed): boolean {
  if (markOf(view)?.autoPause !== true || isPaused(view) || view.expiresAt === null) return false
  return Date.parse(view.expiresAt) - PAUSED_MS >= Date.parse(view.createdAt)
}

/** As it is listed. */
export function listedSandbox(view: SandboxView, volumes: ReadonlyMap<string, string>): Record<string, unknown> {
  const { limits } = view
  return {
    sandboxID: toE2bId(view.id),
    templateID: markOf(view)?.template ?? view.template,
    clientID: 'hearth',
    alias: view.template,
    startedAt: view.createdAt,
    endAt: new Date(endOf(view)).toISOString(),
    state: isPaused(view) ? 'paused' : 'running',
    cpuCount: Math.max(1, Math.ceil(limits.cpus)),
    memoryMB: Math.floor(limits.memoryBytes / 1024 ** 2),
    diskSizeMB: Math.floor(limits.diskBytes / 1024 ** 2),
    envdVersion: ENVD_VERSION,
    metadata: visibleMetadata(view),
    volumeMounts: view.volumes.map(({ volume, path }) => ({ name: volumes.get(volume) ?? volume, path })),
  }
}

/** As create, connect and fork give it: with what a client needs to reach into it. */
export function reachableSandbox(e2b: E2b, caller: Caller, view: SandboxView): Record<string, unknown> {
  const mark = markOf(view)
  return {
    sandboxID: toE2bId(view.id),
    templateID: mark?.template ?? view.template,
    clientID: 'hearth',
    alias: view.template,
    envdVersion: ENVD_VERSION,
    domain: e2b.domain(),
    envdAccessToken: accessToken(e2b, caller, view.id),
    ...(mark?.privateTraffic !== false ? { trafficAccessToken: e2b.tokens.traffic(view.id as SandboxId) } : {}),
  }
}

export async function detailedSandbox(e2b: E2b, caller: Caller, view: SandboxView): Promise<Record<string, unknown>> {
  const mark = markOf(view)
  const { effective } = await e2b.services.controlPlane.policies.get(caller, view.id)
  return {
    ...listedSandbox(view, await volumeNames({ plane: e2b.services.controlPlane, caller }, [view])),
    domain: e2b.domain(),
    envdAccessToken: accessToken(e2b, caller, view.id),
    lifecycle: {
      autoResume: mark?.autoResume ?? false,
      onTimeout: mark?.autoPause === true ? 'pause' : 'kill',
    },
    allowInternetAccess: effective.mode === 'audit',
    network: {
      ...networkOf(effective),
      allowPublicTraffic: mark !== null && !mark.privateTraffic,
      ...(mark?.requestHost === undefined ? {} : { maskRequestHost: mark.requestHost }),
      ...(mark?.httpsPorts === undefined ? {} : { httpsPorts: mark.httpsPorts }),
    },
  }
}

function accessToken(e2b: E2b, { tenantId, keyId }: Caller, id: string): string {
  return e2b.tokens.issue({ sandbox: id as SandboxId, tenantId, keyId })
}
