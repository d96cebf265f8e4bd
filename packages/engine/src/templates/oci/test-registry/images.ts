import { gzipSync, zstdCompressSync } from 'node:zlib'
import { makeTar, type TarInput } from '../../tar/make-tar.ts'
import { type Blob, digestOf, type LocalRegistry } from './local-registry.ts'

const OCI = {
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  index: 'application/vnd.oci.image.index.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar',
}
const DOCKER = {
  manifest: 'application/vnd.docker.distribution.manifest.v2+json',
  index: 'application/vnd.docker.distribution.manifest.list.v2+json',
  config: 'application/vnd.docker.container.image.v1+json',
  layer: 'application/vnd.docker.image.rootfs.diff.tar.gzip',
}
export const FAMILIES = { OCI, DOCKER }
export const ARCHITECTURE = process.arch === 'x64' ? 'amd64' : process.arch

export interface Layer {
  readonly tar: Uint8Array
  readonly compression: 'gzip' | 'zstd' | 'none'
}

export function layer(entries: readonly TarInput[], compression: Layer['compression'] = 'gzip'): Layer {
  return { tar: makeTar(entries), compression }
}

export function compress({ tar, compression }: Layer): Uint8Array {
  if (compression === 'gzip') return gzipSync(tar)
  return compression === 'zstd' ? zstdCompressSync(tar) : tar
}

export function configOf(
  layers: readonly Layer[],
  config: Record<string, unknown> = {},
  architecture = ARCHITECTURE,
): Buffer {
  const diff_ids = layers.map(({ tar }) => digestOf(tar))
  return Buffer.from(JSON.stringify({ os: 'linux', architecture, config, rootfs: { type: 'layers', diff_ids } }))
}

/** Pushes an image and gives its manifest's descriptor. */
export async function pushImage(
  registry: LocalRegistry,
  [repository, tag]: readonly [string, string],
  layers: readonly Layer[],
  options: { family?: keyof typeof FAMILIES; config?: Record<string, unknown>; architecture?: string } = {},
): Promise<Blob> {
  const types = FAMILIES[options.family ?? 'OCI']
  const config = await registry.pushBlob(
    repository,
    configOf(layers, options.config, options.architecture),
    types.config,
  )
  const blobs: Blob[] = []
  for (const each of layers) {
    const suffix = options.family === 'DOCKER' || each.compression === 'none' ? '' : `+${each.compression}`
    blobs.push(await registry.pushBlob(repository, compress(each), `${types.layer}${suffix}`))
  }
  return await registry.pushManifest(repository, tag, {
    schemaVersion: 2,
    mediaType: types.manifest,
    config,
    layers: blobs,
  })
}
