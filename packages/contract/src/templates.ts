import { z } from 'zod'

/** A template's name: `host`, `debian`, `code-interpreter`, or an image (`registry/name:tag`, `archive:PATH`). */
export const templateNameSchema = z.string().min(1).max(512)

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
