import { mkdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { HearthError } from '@hearth/contract'
import type { HostPaths } from '../host/host.ts'
import { readKeeper } from '../host/keeper-process.ts'
import type { AreaPlace, CapturedArea } from './disk-area.ts'
import { layerSnapshot, MAXIMUM_LAYERS } from './layers.ts'
import { readManifest } from './snapshot-files.ts'
import { runStore } from './store-helper.ts'

/**
 * Copies what a sandbox changed into `target`, with shared blocks where the file system can. A tmpfs is seen only in the mount namespace of
 * the sandbox's runtime. What it changed before it slept, which lies below, is laid into the same copy: so it holds what it has, not what
 * it had once. Beyond the most layers that a root may have, so are the layers below.
 */
export async function captureLayer(
  paths: HostPaths,
  place: AreaPlace,
  idBase: number | null,
  target: string,
): Promise<CapturedArea> {
  const own = await ownLayers(place)
  const flatten = place.layers.length - own + 1 >= MAXIMUM_LAYERS
  const merged = flatten ? place.layers : place.layers.slice(0, own)
  try {
    await mkdir(target, { mode: 0o700 })
    const image = place.kind === 'none'
    const to = image ? target : join(target, 'upper')
    if (!image) await mkdir(to, { mode: 0o755 })
    for (const layer of merged.toReversed()) await runStore(paths.guest, 'copy', '0', layer, to, '0')
    const source = image ? place.path : join(place.path, 'upper')
    const shifted = place.kind === 'memory' && idBase !== null ? idBase : 0
    await runStore(paths.guest, 'copy', String(await ownerOf(place)), source, to, String(shifted))
    const layers = place.layers.slice(merged.length).map(layerSnapshot)
    let diskBytes = Number(await runStore(paths.guest, 'bytes', to))
    // What others wrote is none of its own.
    for (const layer of merged.slice(own)) diskBytes -= Number(await runStore(paths.guest, 'bytes', layer))
    return { disk: { kind: 'layer', layers }, diskBytes: Math.max(0, diskBytes) }
  } catch (error) {
    await runStore(paths.guest, 'remove', target)
    throw error
  }
}

/** How many of its layers, from the top, are what it changed itself before it slept. */
async function ownLayers({ layers }: AreaPlace): Promise<number> {
  const [top] = layers
  if (top === undefined) return 0
  const manifest = await readManifest(dirname(dirname(top)), layerSnapshot(top))
  return manifest?.kind === 'hibernation' ? 1 : 0
}

/** The process in whose mount namespace the area is seen; 0 when it is seen from here. */
async function ownerOf(place: AreaPlace): Promise<number> {
  if (place.kind !== 'memory') return 0
  const directory = dirname(place.path)
  const keeper = readKeeper(directory)
  if (keeper === null) throw new HearthError('sandbox_ended', `nobody keeps the sandbox in ${directory} any more`)
  const children = await readFile(`/proc/${keeper.pid}/task/${keeper.pid}/children`, 'utf8')
  // The first is the runtime, which the keeper executes in the namespace that its steps made.
  const runtime = Number(children.trim().split(' ')[0])
  if (!Number.isSafeInteger(runtime) || runtime <= 0)
    throw new HearthError('sandbox_ended', `the sandbox in ${directory} has no runtime any more`)
  return runtime
}
