import { HearthError, volumePathSchema, type CreateSandbox, type VolumeView } from '@hearth/contract'
import { z } from 'zod'
import { isOwn, ownVolumes } from '../../own-volumes.ts'
import type { Answer, Call, Route } from '../control/call.ts'

/** Where volumes are in a new sandbox. */
export const volumeMountsSchema = z.array(z.object({ name: z.string().max(64), path: volumePathSchema })).max(64)

const read = 'sandbox:read' as const
const write = 'sandbox:write' as const

/** Volumes; what is in them has an API of its own. */
export const VOLUME_ROUTES: readonly Route[] = [
  { method: 'POST', path: '/volumes', name: 'e2b.volume.create', scope: write, handle: create },
  { method: 'GET', path: '/volumes', name: 'e2b.volume.list', scope: read, handle: list },
  { method: 'GET', path: '/volumes/{volume}', name: 'e2b.volume.get', scope: read, handle: get },
  { method: 'DELETE', path: '/volumes/{volume}', name: 'e2b.volume.delete', scope: write, handle: remove },
]

async function create(call: Call): Promise<Answer> {
  const { name } = await call.body(z.object({ name: z.string().max(64) }))
  const keyed = { idempotencyKey: null, signal: call.operation.signal }
  return { status: 201, json: reachable(call, await call.plane.volumes.create(call.caller, { name }, keyed)) }
}

async function list(call: Call): Promise<Answer> {
  return { status: 200, json: (await ownVolumes(call)).map(shown) }
}

async function get(call: Call): Promise<Answer> {
  return { status: 200, json: reachable(call, await own(call)) }
}

async function remove(call: Call): Promise<Answer> {
  const { id } = await own(call)
  await call.e2b.volumes.idle(id)
  await call.plane.volumes.remove(call.caller, id)
  return { status: 204 }
}

async function own(call: Call): Promise<VolumeView> {
  const volume = await call.plane.volumes.get(call.caller, call.parameter('volume'))
  if (!isOwn(volume)) throw new HearthError('volume_not_found', `there is no volume ${volume.id}`)
  return volume
}

function shown({ id, name }: VolumeView): { readonly volumeID: string; readonly name: string } {
  return { volumeID: id, name: name ?? id }
}

function reachable(call: Call, volume: VolumeView): Record<string, unknown> {
  const { tenantId, keyId } = call.caller
  const token = call.e2b.tokens.volume({ volume: volume.id, tenantId, keyId })
  return { ...shown(volume), token, domain: call.e2b.domain() }
}

/** What is just reached into is waited for. */
export async function volumesOf(
  call: Call,
  mounts: z.output<typeof volumeMountsSchema>,
): Promise<Pick<CreateSandbox, 'volumes'>> {
  if (mounts.length === 0) return {}
  for (const { name } of mounts) {
    await call.e2b.volumes.idle((await call.plane.volumes.get(call.caller, name)).id)
  }
  return { volumes: mounts.map(({ name, path }) => ({ volume: name, path })) }
}

/** Names of the volumes that these sandboxes have, by identifier. */
export async function volumeNames(
  call: Pick<Call, 'plane' | 'caller'>,
  views: readonly { readonly volumes: readonly unknown[] }[],
): Promise<ReadonlyMap<string, string>> {
  if (views.every(({ volumes }) => volumes.length === 0)) return new Map()
  return new Map((await ownVolumes(call)).map(({ id, name }) => [id, name ?? id]))
}
