import { HearthError, type RegistryCredentials } from '@hearth/contract'
import type { HostPaths } from '../host/host.ts'
import { DebianSource } from './debian/debian-source.ts'
import { DEBIAN_RECIPES } from './debian/recipe.ts'
import { parseImageReference, type ImageReference } from './oci/image-reference.ts'
import { ArchiveSource, RegistrySource } from './oci/oci-source.ts'
import type { PrivateImage } from './private-pulls.ts'
import type { TemplateSource } from './template-source.ts'

const ARCHIVE = 'archive:'

/** Templates of our own that are built at first use. */
export const BUILT_IN_TEMPLATES: readonly string[] = DEBIAN_RECIPES.map((recipe) => recipe.name)

/** Finds where a template comes from by its name alone; nothing is read or built yet. Credentials are for images of registries. */
export function findSource(
  name: string,
  paths: HostPaths,
  credentials: RegistryCredentials | null = null,
): TemplateSource {
  if (credentials !== null) return new RegistrySource(requireImage(name), { cache: paths.cache, credentials })
  const recipe = DEBIAN_RECIPES.find((each) => each.name === name)
  if (recipe !== undefined) return new DebianSource(recipe)
  if (name.startsWith(ARCHIVE) && name.length > ARCHIVE.length) return new ArchiveSource(name.slice(ARCHIVE.length))
  const reference = parseImageReference(name)
  if (reference !== null) return new RegistrySource(reference, { cache: paths.cache })
  throw new HearthError('template_not_found', `there is no template ${JSON.stringify(name)}`, { context: { name } })
}

/** An image for one who has its credentials: nothing of it is kept for other images. */
export function privateSource({ name, credentials }: PrivateImage): TemplateSource {
  return new RegistrySource(requireImage(name), { cache: null, credentials })
}

function requireImage(name: string): ImageReference {
  const reference = parseImageReference(name)
  if (reference !== null) return reference
  throw new HearthError(
    'invalid_request',
    `${JSON.stringify(name)} is no image of a registry, which credentials are for`,
    {
      context: { name },
      suggestion: 'Write the registry too: `registry.example.com/team/image:1`.',
    },
  )
}
