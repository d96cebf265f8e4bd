import { HearthError } from '@hearth/contract'
import type { BuildContext, BuiltTemplate, TemplateSource } from './template-source.ts'

/** Whatever the operating system or the network says, it is about this build. */
export async function buildFrom(name: string, source: TemplateSource, context: BuildContext): Promise<BuiltTemplate> {
  return await source.build(context).catch((cause: unknown) => {
    if (HearthError.isInstance(cause)) throw cause
    const reason = cause instanceof Error ? cause.message : String(cause)
    const context = { name }
    throw new HearthError('template_build_failed', `${name} could not be built: ${reason}`, { cause, context })
  })
}
