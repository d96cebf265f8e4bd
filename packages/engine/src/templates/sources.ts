import { HearthError } from '@hearth/contract'
import type { HostPaths } from '../host/host.ts'
import type { TemplateSource } from './template-source.ts'

/** Templates of our own that are built at first use. */
export const BUILT_IN_TEMPLATES: readonly string[] = []

/** Finds where a template comes from by its name alone; nothing is read or built yet. */
export function findSource(name: string, _paths: HostPaths): TemplateSource {
  throw new HearthError('template_not_found', `there is no template ${JSON.stringify(name)}`, { context: { name } })
}
