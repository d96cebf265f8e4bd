import { withoutUndefined } from '../options/sandbox-options.ts'
import { presentList, presentOne } from '../output/present.ts'
import { table } from '../output/table.ts'
import { volumeFacts, volumeRow, volumeView } from '../output/volume-view.ts'
import { eachNamed } from '../server/each-named.ts'
import { findVolume } from '../server/find-volume.ts'
import { withServer, type ServerOptions } from '../server/with-server.ts'

export interface NewVolumeOptions extends ServerOptions {
  readonly disk?: number
}

export async function createVolume(name: string | undefined, options: NewVolumeOptions): Promise<number> {
  const asked = withoutUndefined({ name, diskBytes: options.disk })
  const made = await withServer(options, async (hearth) => await hearth.volumes.create(asked))
  await presentOne(options, { id: made.id, json: made, people: () => volumeRow(made) })
  return 0
}

export async function listVolumes(options: ServerOptions): Promise<number> {
  const volumes = await withServer(options, async (hearth) => await hearth.volumes.list())
  await presentList(options, volumes.toReversed(), volumeView)
  return 0
}

export async function getVolume(name: string, options: ServerOptions): Promise<number> {
  const volume = await withServer(options, async (hearth) => await findVolume(hearth, name))
  await presentOne(options, { id: volume.id, json: volume, people: () => table(volumeFacts(volume)) })
  return 0
}

export async function removeVolumes(names: readonly string[], options: ServerOptions): Promise<number> {
  return await eachNamed(names, options, null, async (hearth, name) => {
    const { id } = await findVolume(hearth, name)
    await hearth.volumes.remove(id)
    return { id, removed: true }
  })
}
