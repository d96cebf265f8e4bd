import { HearthError } from '@hearth/contract'
import type { HostPaths } from '../host/host.ts'
import { DebianSource } from './debian/debian-source.ts'
import { DEBIAN_RECIPES } from './debian/recipe.ts'
import { parseImageReference } from './oci/image-reference.ts'
import { ArchiveSource, RegistrySource } from './oci/oci-source.ts'
import type { TemplateSource } from './template-source.ts'

const ARCHIVE = 'archive:'

/** Templates of our own that are built at first use. */
export const BUILT_IN_TEMPLATES: readonly string[] = DEBIAN_RECIPES.map((recipe) => recipe.name)

/** Finds where a template comes from by its name alone; nothing is read or built yet. */
export function findSource(name: string, paths: HostPaths): TemplateSource {
  const recipe = DEBIAN_RECIPES.find((each) => each.name === name)
  if (recipe !== undefined) return new DebianSource(recipe)
  if (name.startsWith(ARCHIVE) && name.length > ARCHIVE.length) return new ArchiveSource(name.slice(ARCHIVE.length))
  const reference = parseImageReference(name)
  if (reference !== null) return new RegistrySource(reference, paths.cache)
  throw new HearthError('template_not_found', `there is no template ${JSON.stringify(name)}`, { context: { name } })
}
