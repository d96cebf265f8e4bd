import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { lstat, mkdir, readFile, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { HearthError } from '@hearth/contract'
import { decompressed } from './decompress.ts'
import { imageInvalid } from './image-error.ts'
import { IMAGE_LIMITS, UNPACK_LIMITS } from './image-limits.ts'
import {
  choosePlatform,
  configSchema,
  type Descriptor,
  indexSchema,
  manifestSchema,
  parseDocument,
  readIndex,
  savedSchema,
} from './image-schemas.ts'
import type { Image } from './image.ts'
import { LayerUnpacker } from './layer-unpacker.ts'
import { collect, verified } from './verified-stream.ts'

/** Opens an OCI image layout (a directory or an archive of one) or what `docker save` wrote. */
export async function openArchiveImage(path: string, workspace: string, signal: AbortSignal): Promise<Image> {
  const status = await stat(path).catch((cause: NodeJS.ErrnoException) => {
    throw new HearthError('template_not_found', `there is no image archive at ${path}`, { cause, context: { path } })
  })
  const files = new ArchiveFiles(
    status.isDirectory() ? await realpath(path) : await unpackArchive(path, workspace, signal),
  )
  if (await files.has('index.json')) return await openLayout(files)
  if (await files.has('manifest.json')) return await openSaved(files)
  throw imageInvalid(`${path} is neither an OCI image layout nor an archive of \`docker save\``, { path })
}

/** The archive's own entries are as hostile as those of a layer, so they are unpacked the same way. */
async function unpackArchive(path: string, workspace: string, signal: AbortSignal): Promise<string> {
  const root = join(workspace, 'archive')
  await mkdir(root)
  const unpacker = new LayerUnpacker(root, UNPACK_LIMITS)
  await unpacker.unpack(decompressed(createReadStream(path, { highWaterMark: 1024 * 1024 })), signal)
  return root
}

async function openLayout(files: ArchiveFiles): Promise<Image> {
  const index = parseDocument(indexSchema, await files.small('index.json'), 'index.json')
  let descriptor: Descriptor | undefined =
    index.manifests.length === 1 ? index.manifests[0] : choosePlatform(index.manifests)
  for (let depth = 0; depth < IMAGE_LIMITS.indexDepth && descriptor !== undefined; depth++) {
    const bytes = await files.blob(descriptor, IMAGE_LIMITS.manifestBytes, 'the manifest')
    const nested = readIndex(bytes)
    if (nested !== null) {
      descriptor = choosePlatform(nested)
      continue
    }
    const manifest = parseDocument(manifestSchema, bytes, 'the manifest')
    const config = parseDocument(
      configSchema,
      await files.blob(manifest.config, IMAGE_LIMITS.configBytes, 'the configuration'),
      'the configuration',
    )
    const diffIds = config.rootfs.diff_ids
    if (diffIds.length !== manifest.layers.length) throw imageInvalid('the image names other layers than it has')
    const layers = manifest.layers.map((layer, position) => ({
      diffId: diffIds[position] ?? '',
      open: () => files.open(layer, IMAGE_LIMITS.compressedLayerBytes, `layer ${position + 1}`),
    }))
    return { digest: manifest.config.digest, config, layers }
  }
  throw imageInvalid('the index of the image is nested too deeply')
}

/** The form of `docker save`: layers are plain files, known only by the digest of their content. */
async function openSaved(files: ArchiveFiles): Promise<Image> {
  const saved = parseDocument(savedSchema, await files.small('manifest.json'), 'manifest.json')
  const [image] = saved
  if (image === undefined || saved.length > 1)
    throw imageInvalid('the archive holds more than one image', { images: saved.length })
  const bytes = await files.small(image.Config)
  const config = parseDocument(configSchema, bytes, 'the configuration')
  const diffIds = config.rootfs.diff_ids
  if (diffIds.length !== image.Layers.length) throw imageInvalid('the image names other layers than it has')
  const layers = image.Layers.map((layer, position) => ({
    diffId: diffIds[position] ?? '',
    open: () => files.plain(layer),
  }))
  return { digest: `sha256:${createHash('sha256').update(bytes).digest('hex')}`, config, layers }
}

/** Files of an unpacked archive, never one outside of it. */
class ArchiveFiles {
  readonly #root: string

  constructor(root: string) {
    this.#root = root
  }

  async has(name: string): Promise<boolean> {
    return await lstat(join(this.#root, name)).then(
      (status) => status.isFile(),
      () => false,
    )
  }

  async small(name: string): Promise<Buffer> {
    const path = await this.#path(name)
    const { size } = await lstat(path)
    if (size > IMAGE_LIMITS.configBytes) throw imageInvalid(`${name} is too large`, { name, size })
    return await readFile(path)
  }

  async blob(descriptor: Descriptor, maximumBytes: number, what: string): Promise<Buffer> {
    return await collect(this.open(descriptor, maximumBytes, what))
  }

  open({ digest, size }: Descriptor, maximumBytes: number, what: string): AsyncIterable<Uint8Array> {
    return verified(this.plain(`blobs/${digest.replace(':', '/')}`), { digest, size, maximumBytes, what })
  }

  async *plain(name: string): AsyncGenerator<Uint8Array, void> {
    for await (const chunk of createReadStream(await this.#path(name), { highWaterMark: 1024 * 1024 }))
      yield chunk as Uint8Array
  }

  /** SAFETY: names come from the archive, and so may links in it. */
  async #path(name: string): Promise<string> {
    const path = await realpath(join(this.#root, name)).catch((cause: unknown) => {
      throw imageInvalid(`the archive has no ${name}`, { name }, cause)
    })
    if (!path.startsWith(`${this.#root}/`)) throw imageInvalid(`${name} leads out of the archive`, { name })
    return path
  }
}
