import { mkdir, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { environmentSchema, HearthError, userSchema, type RegistryCredentials } from '@hearth/contract'
import { TEMPLATE_PATH } from '../base-files.ts'
import type { BuildContext, BuiltTemplate, TemplateSource } from '../template-source.ts'
import { openArchiveImage } from './archive-image.ts'
import { decompressed } from './decompress.ts'
import { imageInvalid } from './image-error.ts'
import { UNPACK_LIMITS, type UnpackLimits } from './image-limits.ts'
import type { ImageReference } from './image-reference.ts'
import type { ImageConfig } from './image-schemas.ts'
import type { Image } from './image.ts'
import { LayerCache } from './layer-cache.ts'
import { LayerUnpacker } from './layer-unpacker.ts'
import { findRegistryImage } from './registry-image.ts'
import { verified } from './verified-stream.ts'

export interface RegistrySourceOptions {
  /** Where layers are kept for other images. Null: they go with the build. */
  readonly cache: string | null
  readonly credentials?: RegistryCredentials | null
  readonly limits?: UnpackLimits
}

/** An image in a registry. A name is pulled once; `build` with `force` looks again. */
export class RegistrySource implements TemplateSource {
  readonly #reference: ImageReference
  readonly #options: RegistrySourceOptions

  constructor(reference: ImageReference, options: RegistrySourceOptions) {
    this.#reference = reference
    this.#options = options
  }

  async identity(): Promise<string> {
    return 'registry'
  }

  async build(context: BuildContext): Promise<BuiltTemplate> {
    const { registry, repository } = this.#reference
    const progress = (line: string): void => context.progress(`${registry}/${repository}: ${line}`)
    const { cache: kept, credentials = null, limits = UNPACK_LIMITS } = this.#options
    const cache = new LayerCache(join(kept ?? context.workspace, 'layers'))
    const image = await findRegistryImage({ reference: this.#reference, credentials }, cache, progress, context.signal)
    if (await context.has(image.digest)) return { ...templateOf(image), root: null }
    await image.fetchLayers()
    try {
      return await unpackImage(image, { ...context, progress }, limits)
    } catch (error) {
      // A layer is not what it should be, or was damaged: it must not be found again.
      const isDamaged = HearthError.isInstance(error) && error.code === 'image_invalid'
      if (isDamaged) for (const layer of image.layers) await cache.remove(layer.diffId)
      throw error
    }
  }
}

/** An image in a file or a directory. */
export class ArchiveSource implements TemplateSource {
  readonly #path: string
  readonly #limits: UnpackLimits

  constructor(path: string, limits: UnpackLimits = UNPACK_LIMITS) {
    this.#path = resolve(path)
    this.#limits = limits
  }

  /** Another file under the same name is another image. */
  async identity(): Promise<string> {
    const status = await stat(this.#path).catch(() => null)
    return status === null ? 'absent' : `${status.dev} ${status.ino} ${status.size} ${status.mtimeMs}`
  }

  async build(context: BuildContext): Promise<BuiltTemplate> {
    context.progress(`reading ${this.#path}`)
    const image = await openArchiveImage(this.#path, context.workspace, context.signal)
    if (await context.has(image.digest)) return { ...templateOf(image), root: null }
    return await unpackImage(image, context, this.#limits)
  }
}

async function unpackImage(image: Image, context: BuildContext, limits: UnpackLimits): Promise<BuiltTemplate> {
  const root = join(context.workspace, 'root')
  await mkdir(root, { mode: 0o755 })
  const unpacker = new LayerUnpacker(root, limits)
  for (const [index, { diffId, open }] of image.layers.entries()) {
    context.progress(`unpacking layer ${index + 1} of ${image.layers.length}`)
    // Twice the content leaves room for the headers of small files.
    const expectation = {
      digest: diffId,
      size: null,
      maximumBytes: 2 * limits.layerBytes,
      what: `the content of layer ${index + 1}`,
    }
    await unpacker.unpack(verified(decompressed(open()), expectation), context.signal)
  }
  unpacker.finish()
  return { ...templateOf(image), root }
}

/** What the configuration asks for. It is the image's word, so it is checked like any other input. */
function templateOf({ digest, config }: Image): Omit<BuiltTemplate, 'root'> {
  requirePlatform(config)
  const { Env, WorkingDir, User } = config.config ?? {}
  const pairs = (Env ?? []).flatMap((entry): [string, string][] => {
    const equals = entry.indexOf('=')
    return equals > 0 ? [[entry.slice(0, equals), entry.slice(equals + 1)]] : []
  })
  const valid = pairs.filter(([name, value]) => environmentSchema.safeParse({ [name]: value }).success)
  const user = User === undefined || User === null || User === '' ? '0' : User
  if (!userSchema.safeParse(user).success) throw imageInvalid('the image names a user that cannot be one', { user })
  const workdir = WorkingDir ?? ''
  return {
    digest,
    environment: { PATH: TEMPLATE_PATH, ...Object.fromEntries(valid) },
    workdir: /^\/[^\0]*$/.test(workdir) ? workdir : '/',
    user,
  }
}

function requirePlatform({ os, architecture }: ImageConfig): void {
  const own = process.arch === 'x64' ? 'amd64' : process.arch
  if (os === 'linux' && architecture === own) return
  throw imageInvalid(`the image is for ${os}/${architecture}, this machine is linux/${own}`, { os, architecture })
}
