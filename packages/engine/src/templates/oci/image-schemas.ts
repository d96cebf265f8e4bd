import { z } from 'zod'
import { imageInvalid } from './image-error.ts'
import { IMAGE_LIMITS } from './image-limits.ts'
import { DIGEST } from './verified-stream.ts'

/** Both families of media types: Docker's and OCI's. */
export const MEDIA_TYPES = {
  indexes: ['application/vnd.oci.image.index.v1+json', 'application/vnd.docker.distribution.manifest.list.v2+json'],
  manifests: ['application/vnd.oci.image.manifest.v1+json', 'application/vnd.docker.distribution.manifest.v2+json'],
} as const

const descriptorSchema = z.object({
  mediaType: z.string().max(256).optional(),
  digest: z.string().regex(DIGEST),
  size: z.int().min(0),
  annotations: z.record(z.string(), z.string()).optional(),
  platform: z.object({ os: z.string(), architecture: z.string(), variant: z.string().optional() }).optional(),
})
export type Descriptor = z.output<typeof descriptorSchema>

export const indexSchema = z.object({ manifests: z.array(descriptorSchema).min(1).max(1000) })

export const manifestSchema = z.object({
  schemaVersion: z.literal(2),
  config: descriptorSchema,
  layers: z.array(descriptorSchema).max(IMAGE_LIMITS.layers),
})
export type Manifest = z.output<typeof manifestSchema>

export const configSchema = z.object({
  os: z.string().max(64),
  architecture: z.string().max(64),
  config: z
    .object({
      Env: z.array(z.string()).max(10_000).nullish(),
      WorkingDir: z.string().max(4096).nullish(),
      User: z.string().max(256).nullish(),
    })
    .nullish(),
  rootfs: z.object({ diff_ids: z.array(z.string().regex(DIGEST)).max(IMAGE_LIMITS.layers) }),
})
export type ImageConfig = z.output<typeof configSchema>

/** `manifest.json` of `docker save`. */
export const savedSchema = z
  .array(z.object({ Config: z.string(), Layers: z.array(z.string()).max(IMAGE_LIMITS.layers) }))
  .min(1)

/** Parses a document of an image; it is as hostile as the rest of it. */
export function parseDocument<Schema extends z.ZodType>(schema: Schema, bytes: Buffer, what: string): z.output<Schema> {
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8'))
  } catch (error) {
    throw imageInvalid(`${what} is not JSON`, {}, error)
  }
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw imageInvalid(`${what} is malformed: ${z.prettifyError(result.error)}`)
}

/** The manifests of an index; null when the document is something else, which whoever expects that finds out. */
export function readIndex(bytes: Buffer): readonly Descriptor[] | null {
  try {
    const result = indexSchema.safeParse(JSON.parse(bytes.toString('utf8')))
    return result.success ? result.data.manifests : null
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}

/** The one of an index that runs here. */
export function choosePlatform(descriptors: readonly Descriptor[]): Descriptor {
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch
  const fitting = descriptors.filter(
    ({ platform }) => platform !== undefined && platform.os === 'linux' && platform.architecture === architecture,
  )
  const chosen = fitting.find(({ platform }) => (platform?.variant ?? 'v8') === 'v8') ?? fitting[0]
  const only = descriptors.length === 1 && descriptors[0]?.platform === undefined ? descriptors[0] : undefined
  if (chosen !== undefined) return chosen
  if (only !== undefined) return only
  const offered = descriptors.map(({ platform }) => `${platform?.os}/${platform?.architecture}`)
  throw imageInvalid(`the image has nothing for linux/${architecture}`, { offered })
}
