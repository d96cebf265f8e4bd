import { z } from 'zod'

/** A template's name: `host`, `debian`, `code-interpreter`, or an image (`registry/name:tag`, `archive:PATH`). */
export const templateNameSchema = z.string().min(1).max(512)

/** What a registry is shown for one pull. It is sent to the registry and to where that gives tokens out, and kept nowhere. */
export const registryCredentialsSchema = z
  .strictObject({
    username: z
      .string()
      .min(1)
      .max(256)
      .regex(/^[^:\p{Cc}]+$/u, 'must hold no colon and no control characters'),
    password: z
      .string()
      .min(1)
      .max(16 * 1024),
  })
  .meta({ id: 'RegistryCredentials' })
export type RegistryCredentials = z.output<typeof registryCredentialsSchema>

/** A root that sandboxes start from, as a host has it. */
export const templateViewSchema = z
  .object({
    name: z.string(),
    /** Content address of its root; null until it is built. */
    digest: z.string().nullable(),
    /** Null until it is built, and for `host`, which is always there. */
    builtAt: z.iso.datetime().nullable(),
  })
  .meta({ id: 'Template' })
export type TemplateView = z.output<typeof templateViewSchema>

export const buildTemplateSchema = z
  .strictObject({
    name: templateNameSchema,
    /** Builds or pulls it anew although it exists. Sandboxes that run keep the old root. */
    force: z.boolean().optional(),
    /** For an image of a private registry. All tenants can use what was built. */
    credentials: registryCredentialsSchema.optional(),
  })
  .meta({ id: 'BuildTemplate' })
export type BuildTemplate = z.input<typeof buildTemplateSchema>

/** What a build says while it goes on; the template itself comes last. */
export const templateBuildEventSchema = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('progress'), line: z.string() }),
    z.object({ type: z.literal('built'), template: templateViewSchema }),
  ])
  .meta({ id: 'TemplateBuildEvent' })
export type TemplateBuildEvent = z.output<typeof templateBuildEventSchema>
