import { InvalidArgumentError } from 'commander'

export interface VolumeOption {
  readonly volume: string
  readonly path: string
  readonly readOnly: boolean
}

/** Collects `NAME:PATH` and `NAME:PATH:ro`. Whether there is such a volume, and whether it can be there, the server knows. */
export function collectVolume(text: string, previous: readonly VolumeOption[] = []): VolumeOption[] {
  const [, volume, path, mode] = /^([^:]+):(\/[^:]*)(?::(ro|rw))?$/.exec(text) ?? []
  if (volume === undefined || path === undefined)
    throw new InvalidArgumentError('It must be NAME:PATH or NAME:PATH:ro, like data:/data.')
  return [...previous, { volume, path, readOnly: mode === 'ro' }]
}
