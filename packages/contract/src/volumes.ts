import { z } from 'zod'
import { newId, type SandboxId } from './ids.ts'
import { BOUNDS } from './limits.ts'

export type VolumeId = string & { readonly __brand: 'VolumeId' }

export const volumeIdSchema = z
  .string()
  .regex(/^vol_[0-9a-hjkmnp-tv-z]{20}$/)
  .transform((id) => id as VolumeId)

export function newVolumeId(): VolumeId {
  return newId('vol') as VolumeId
}

/** Nothing is attached at these or below them: the kernel, the guest and the template's own programs are there. */
const RESERVED = '/proc /sys /dev /run /.hearth /boot /etc /usr /bin /sbin /lib /lib32 /lib64 /libx32'.split(' ')
/** These must stay what they are, but something below them may be a volume. */
const RESERVED_ITSELF = ['/', '/tmp', '/var']

const NAME_BYTES = 255

/** Absolute, and written in one way only, so that equal paths are equal strings. */
function isPlain(path: string): boolean {
  const names = path.split('/').slice(1)
  return (
    path.startsWith('/') &&
    !path.includes('\0') &&
    names.every((name) => name !== '' && name !== '.' && name !== '..' && Buffer.byteLength(name) <= NAME_BYTES)
  )
}

function isFree(path: string): boolean {
  return !RESERVED_ITSELF.includes(path) && !RESERVED.some((own) => isAtOrBelow(path, own))
}

function isAtOrBelow(path: string, ancestor: string): boolean {
  return path === ancestor || path.startsWith(`${ancestor}/`)
}

/** A directory inside a sandbox that a volume can take the place of. */
export const volumePathSchema = z
  .string()
  .max(1024)
  .refine((path) => path === '/' || isPlain(path), 'must be absolute, without `.`, `..` or empty parts')
  .refine(isFree, 'a volume cannot take the place of a directory that the sandbox itself needs')

export const volumeMountSchema = z.strictObject({
  volume: volumeIdSchema,
  path: volumePathSchema,
  /** Nothing in it can be changed through this mount. Many sandboxes may have a volume so, beside the one that writes. Default false. */
  readOnly: z.boolean().default(false),
})
/** A volume in a sandbox. */
export type VolumeMount = Readonly<z.output<typeof volumeMountSchema>>

function mountsOf<Mount extends z.ZodType<{ volume: string; path: string }>>(mount: Mount) {
  return z
    .array(mount)
    .max(BOUNDS.volumes)
    .superRefine((mounts, context) => {
      for (const [index, { path, volume }] of mounts.entries()) {
        const others = mounts.filter((_, other) => other !== index)
        const around = others.find((other) => isAtOrBelow(path, other.path))
        if (around !== undefined)
          context.addIssue({ code: 'custom', path: [index, 'path'], message: `lies in the volume at ${around.path}` })
        if (others.some((other) => other.volume === volume))
          context.addIssue({ code: 'custom', path: [index, 'volume'], message: 'is there twice' })
      }
    })
}

/** The volumes of one sandbox. */
export const volumeMountsSchema = mountsOf(volumeMountSchema)

/** A name that a person gives to a volume. Never mistaken for an identifier. */
export const volumeNameSchema = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$/, 'must be lower-case letters, digits, dots and dashes')

/** The volumes of one sandbox, each by its identifier or its name, which belongs to a tenant. */
export const namedVolumeMountsSchema = mountsOf(
  volumeMountSchema.extend({ volume: z.union([volumeIdSchema, volumeNameSchema]) }),
)
export type NamedVolumeMounts = z.output<typeof namedVolumeMountsSchema>

const MiB = 1024 * 1024
const GiB = 1024 * MiB

export const volumeOptionsSchema = z.strictObject({
  /** Bytes that may be written to it, where the store keeps such limits. Default 4 GiB, or as the one that is cloned. */
  diskBytes: z
    .int()
    .min(16 * MiB)
    .max(16_384 * GiB)
    .optional(),
  /** Default: a new one. It must never have been used before. */
  id: volumeIdSchema.optional(),
})
export type VolumeOptions = z.input<typeof volumeOptionsSchema>

/** A directory that outlives every sandbox. */
export interface VolumeInfo {
  readonly id: VolumeId
  readonly createdAt: Date
  /** The one that it was cloned of. That one may be gone. */
  readonly parent: VolumeId | null
  /** Bytes that may be written to it. */
  readonly diskBytes: number
  /** Whether the store keeps that limit: a btrfs with quotas does. */
  readonly limited: boolean
  /** Bytes that it holds, as far as the store can tell: what a clone has in common with its parent may be counted there alone. */
  readonly usedBytes: number
  /** The sandbox that may write to it. One that sleeps still has it. */
  readonly attachedTo: SandboxId | null
  /** Sandboxes that have it read-only. */
  readonly readBy: readonly SandboxId[]
}
