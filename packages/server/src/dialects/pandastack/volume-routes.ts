import { HearthError, namedVolumeMountsSchema, parseInput, type CreateSandbox, type VolumeView } from '@hearth/contract'
import { z } from 'zod'
import { isOwn, ownVolumes } from '../own-volumes.ts'
import { routes, type Answer, type Call, type Route } from './call.ts'

const MIB = 1024 ** 2
const DEFAULT_MB = 256
const MOST_MB = 65_536
/** The vendor attaches block devices; here a volume is a directory, below this one under its name. */
const DIRECTORY = '/volumes'

/** As a create names them. */
export const volumesSchema = z.array(z.object({ name: z.string().max(64), read_only: z.boolean().nullish() })).max(64)

export const VOLUME_ROUTES: readonly Route[] = routes('volume', {
  'POST /volumes': ['sandbox:write', create],
  'GET /volumes': ['sandbox:read', async (call) => ({ status: 200, json: (await ownVolumes(call)).map(view) })],
  'GET /volumes/{name}': ['sandbox:read', async (call) => ({ status: 200, json: view(await own(call)) })],
  'DELETE /volumes/{name}': ['sandbox:write', remove],
})

async function create(call: Call): Promise<Answer> {
  const schema = z.object({ name: z.string().max(64), size_mb: z.int().min(16).max(MOST_MB).nullish() })
  const { name, size_mb } = await call.body(schema)
  const asked = { name, diskBytes: (size_mb ?? DEFAULT_MB) * MIB }
  return { status: 201, json: view(await call.plane.volumes.create(call.caller, asked, call.keyed)) }
}

async function remove(call: Call): Promise<Answer> {
  await call.plane.volumes.remove(call.caller, (await own(call)).id)
  return { status: 204 }
}

async function own(call: Call): Promise<VolumeView> {
  const volume = await call.plane.volumes.get(call.caller, call.parameter('name'))
  if (!isOwn(volume)) throw new HearthError('volume_not_found', `there is no volume ${volume.id}`)
  return volume
}

function view({ name, diskBytes, createdAt }: VolumeView): Record<string, unknown> {
  return { name, size_mb: Math.round(diskBytes / MIB), size_bytes: diskBytes, created_at: createdAt }
}

/** Where the volumes of a new sandbox are. */
export function mountsOf(volumes: z.output<typeof volumesSchema>): Pick<CreateSandbox, 'volumes'> {
  if (volumes.length === 0) return {}
  const mounts = volumes.map(({ name, read_only }) => ({
    volume: name,
    path: `${DIRECTORY}/${name}`,
    readOnly: read_only === true,
  }))
  return { volumes: parseInput(namedVolumeMountsSchema, mounts, 'volumes') }
}
