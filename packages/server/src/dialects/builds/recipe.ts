import { HearthError, type CreateSandbox } from '@hearth/contract'
import type { PrivateImage } from '@hearth/engine'

/** One instruction of a recipe. */
export type Step =
  | { readonly kind: 'run'; readonly command: string; readonly user: string | null }
  | CopyStep
  | { readonly kind: 'env'; readonly values: Readonly<Record<string, string>> }
  | { readonly kind: 'workdir'; readonly path: string }
  | { readonly kind: 'user'; readonly name: string }
  /** Said in the log, and nothing else. */
  | { readonly kind: 'note'; readonly text: string }

export interface CopyStep {
  readonly kind: 'copy'
  /** All that the source matches, as a tar stream, with paths relative to where the source is. */
  readonly archive: () => AsyncIterable<Uint8Array>
  /** A path or a pattern, relative. */
  readonly source: string
  readonly target: string
  /** `user` or `user:group`; null for the user of that place in the recipe. */
  readonly owner: string | null
  /** Octal digits. */
  readonly mode: string | null
}

/** How a template is made: a root, and what is done in a sandbox of it. */
export interface Recipe {
  readonly root: Pick<CreateSandbox, 'template' | 'from' | 'user'>
  /** In place of the root: an image of a private registry. */
  readonly image?: PrivateImage
  readonly rung?: Pick<CreateSandbox, 'rung' | 'atLeast'>
  /** `text` is how it stands in the log. */
  readonly steps: readonly { readonly text: string; readonly step: Step }[]
  /** Runs when the snapshot is taken, and so in every sandbox of it. */
  readonly start: string | null
  /** Succeeds when what was started is ready. */
  readonly ready: string | null
  /** Who runs commands at first, and where; made where it is missing. Null for whatever the root has. */
  readonly user: { readonly name: string; readonly home: string } | null
}

/** Where a recipe leaves the user, the directory and the environment: what sandboxes of the template begin with. */
export interface Place {
  readonly user: string | null
  readonly workdir: string | null
  readonly env: Readonly<Record<string, string>>
}

export const START: Place = { user: null, workdir: null, env: {} }

export function placeAfter(place: Place, step: Step): Place {
  switch (step.kind) {
    case 'user':
      return { ...place, user: step.name }
    case 'workdir':
      return { ...place, workdir: absolute(place.workdir ?? '/', step.path) }
    case 'env':
      return { ...place, env: { ...place.env, ...step.values } }
    case 'run':
    case 'copy':
    case 'note':
      return place
  }
}

/** Checked before anything runs: what a shell is given as an argument is still only a name. */
export function requireUserName(name: string): string {
  if (/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,31}$/.test(name)) return name
  throw new HearthError('invalid_request', `${JSON.stringify(name.slice(0, 64))} is no name of a user`)
}

/** A source lies inside of what was sent. */
export function requireInside(source: string): string {
  const parts = source.split('/')
  if (!source.startsWith('/') && !parts.includes('..') && !source.includes('\0') && source !== '') return source
  throw new HearthError(
    'invalid_request',
    `${JSON.stringify(source.slice(0, 64))} does not lie in the files of the build`,
  )
}

function absolute(from: string, path: string): string {
  return path.startsWith('/') ? path : `${from.replace(/\/$/, '')}/${path}`
}
