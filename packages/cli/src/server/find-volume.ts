import type { CallOptions, Hearth, Volume } from '@hearth/sdk'
import { isWholeId, pickNamed, type Kind } from './find-named.ts'

const VOLUME: Kind = {
  what: 'volume',
  several: 'volumes',
  prefix: 'vol',
  missing: 'volume_not_found',
  list: 'hearth volume ls',
}

/** The volume that a person names. */
export async function findVolume(hearth: Hearth, name: string, options: CallOptions = {}): Promise<Volume> {
  if (isWholeId(VOLUME, name)) return await hearth.volumes.get(name, options)
  return pickNamed(VOLUME, await hearth.volumes.list(options), name)
}
