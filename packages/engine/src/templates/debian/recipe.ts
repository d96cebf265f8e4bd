import { createHash } from 'node:crypto'

/** What a Debian root holds beside the essential packages. */
export interface DebianRecipe {
  readonly name: string
  readonly packages: readonly string[]
}

const BASE = [
  'bzip2',
  'ca-certificates',
  'curl',
  'file',
  'git',
  'jq',
  'less',
  'make',
  'nodejs',
  'patch',
  'procps',
  'python-is-python3',
  'python3',
  'python3-pip',
  'python3-venv',
  'ripgrep',
  'unzip',
  'xz-utils',
  'zip',
]

const DATA = [
  'python3-bs4',
  'python3-lxml',
  'python3-matplotlib',
  'python3-numpy',
  'python3-openpyxl',
  'python3-pandas',
  'python3-pil',
  'python3-requests',
  'python3-scipy',
  'python3-seaborn',
  'python3-sklearn',
  'python3-sympy',
  'python3-tz',
  'python3-yaml',
]

export const DEBIAN_RECIPES: readonly DebianRecipe[] = [
  { name: 'debian', packages: BASE },
  { name: 'code-interpreter', packages: [...BASE, ...DATA] },
]

/** Counts up when the steps of a build change, so that stored roots of the older steps are built anew. */
const STEPS_VERSION = 1

export function recipeDigest(recipe: DebianRecipe): string {
  return createHash('sha256')
    .update(JSON.stringify([STEPS_VERSION, recipe]))
    .digest('hex')
}
