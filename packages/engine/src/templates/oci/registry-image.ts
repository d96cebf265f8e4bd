import type { RegistryCredentials } from '@hearth/contract'
import { imageInvalid } from './image-error.ts'
import { IMAGE_LIMITS } from './image-limits.ts'
import type { ImageReference } from './image-reference.ts'
import {
  choosePlatform,
  configSchema,
  type Manifest,
  manifestSchema,
  parseDocument,
  readIndex,
} from './image-schemas.ts'
import type { Image } from './image.ts'
import type { LayerCache } from './layer-cache.ts'
import { RegistryClient } from './registry-client.ts'

/** Finds an image in a registry. Its layers are fetched into the cache when they are asked for. */
export async function findRegistryImage(
  { reference, credentials }: { readonly reference: ImageReference; readonly credentials: RegistryCredentials | null },
  cache: LayerCache,
  progress: (line: string) => void,
  signal: AbortSignal,
): Promise<Image & { fetchLayers(): Promise<void> }> {
  const client = new RegistryClient(reference, credentials, signal)
  const manifest = await findManifest(client, reference)
  const { config: descriptor, layers } = manifest
  const config = parseDocument(
    configSchema,
    await client.blob(descriptor, IMAGE_LIMITS.configBytes, 'the configuration'),
    'the configuration',
  )
  const diffIds = config.rootfs.diff_ids
  if (diffIds.length !== layers.length) throw imageInvalid('the image names other layers than it has')

  const fetchLayers = async (): Promise<void> => {
    for (const [index, layer] of layers.entries()) {
      const diffId = diffIds[index] ?? ''
      if (await cache.has(diffId)) continue
      progress(`fetching layer ${index + 1} of ${layers.length} (${megabytes(layer.size)})`)
      await client.stream(layer, `layer ${index + 1}`, async (bytes) => await cache.write(diffId, bytes))
    }
    await cache.prune()
  }
  return {
    digest: descriptor.digest,
    config,
    layers: diffIds.map((diffId) => ({ diffId, open: () => cache.read(diffId) })),
    fetchLayers,
  }
}

/** Follows indexes to the manifest for this machine. */
async function findManifest(client: RegistryClient, reference: ImageReference): Promise<Manifest> {
  let wanted: { tag: string } | { digest: string } =
    reference.digest === null ? { tag: reference.tag ?? 'latest' } : { digest: reference.digest }
  for (let depth = 0; depth < IMAGE_LIMITS.indexDepth; depth++) {
    const { bytes } = await client.manifest(wanted)
    const index = readIndex(bytes)
    if (index === null) return parseDocument(manifestSchema, bytes, 'the manifest')
    wanted = { digest: choosePlatform(index).digest }
  }
  throw imageInvalid('the index of the image is nested too deeply')
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`
}
