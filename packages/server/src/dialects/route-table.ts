import { HearthError } from '@hearth/contract'

interface Place {
  readonly method: string
  /** For example `/sandboxes/{id}`. */
  readonly path: string
}

export interface Found<Route> {
  readonly route: Route
  readonly parameters: Readonly<Record<string, string>>
}

/** The routes of a dialect, by method and path. */
export class RouteTable<Route extends Place> {
  readonly #routes: readonly { readonly route: Route; readonly pattern: RegExp }[]

  constructor(routes: readonly Route[], prefix = '') {
    this.#routes = routes.map((route) => ({
      route,
      pattern: new RegExp(`^${prefix}${route.path.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]{1,512})')}$`),
    }))
  }

  find(method: string, path: string): Found<Route> | null {
    for (const { route, pattern } of this.#routes) {
      const match = route.method === method ? pattern.exec(path) : null
      if (match !== null) return { route, parameters: decoded(match.groups ?? {}) }
    }
    return null
  }
}

function decoded(groups: Readonly<Record<string, string>>): Record<string, string> {
  try {
    return Object.fromEntries(Object.entries(groups).map(([name, value]) => [name, decodeURIComponent(value)]))
  } catch {
    throw new HearthError('invalid_request', 'the path is not encoded as it should be')
  }
}
