import type { RegistryCredentials, TemplateView } from '@hearth/contract'
import { itemsOf } from './checks.ts'
import { HearthError } from './hearth-error.ts'
import { jsonEvents } from './streams/json-events.ts'
import type { CallOptions, HttpClient } from './transport/http-client.ts'
import type { Dated } from './workspaces/dates.ts'

/** A root that sandboxes start from. `digest` and `builtAt` are null while it is not built; `host` is always there. */
export type Template = Dated<TemplateView, 'builtAt'>

/** How `Templates.build` builds. */
export interface BuildTemplateOptions {
  /** Builds or pulls it anew although it exists. Sandboxes that run keep the old root. */
  readonly force?: boolean
  /** For an image of a private registry: sent to it for this pull, and kept nowhere. All tenants can use what was built. */
  readonly credentials?: RegistryCredentials
  /** Told what the server does, line by line. */
  readonly onProgress?: (line: string) => void
  /** Ends the build, unless others wait for the same one. */
  readonly signal?: AbortSignal
}

/** The templates of the server's host. To build and remove them needs a key with the scope `operator`. */
export class Templates {
  readonly #http: HttpClient

  constructor(http: HttpClient) {
    this.#http = http
  }

  /** Templates by name: with `operator` all of the host, else the built-in ones and those of your own sandboxes. */
  async list(options: CallOptions = {}): Promise<Template[]> {
    const found: Template[] = []
    let cursor: string | null | undefined
    do {
      const query = { limit: 1000, cursor: cursor ?? undefined }
      const call = { method: 'GET', path: '/templates', query, signal: options.signal } as const
      const body: { next?: string | null } = await this.#http.json(call)
      found.push(...itemsOf<TemplateView>(body).map(templateOf))
      cursor = body.next
    } while (typeof cursor === 'string')
    return found
  }

  /**
   * Builds or pulls a template now, so that the first sandbox of it need not wait. Repeated safely: what is there is not built again.
   *
   * @example
   * await hearth.templates.build('debian', { onProgress: (line) => console.log(line) })
   */
  async build(name: string, options: BuildTemplateOptions = {}): Promise<Template> {
    const { force, credentials, onProgress, signal } = options
    const json = {
      name,
      ...(force === undefined ? {} : { force }),
      ...(credentials === undefined ? {} : { credentials }),
    }
    const headers = { accept: 'text/event-stream' }
    const call = { method: 'POST', path: '/templates', json, headers, signal, timeoutMs: null } as const
    const answer = await this.#http.send({ ...call, repeatable: force !== true })
    for await (const { type, line, template } of jsonEvents(answer)) {
      if (type === 'progress' && typeof line === 'string') onProgress?.(line)
      // Only the type is taken on trust, as for every answer of the caller's own server.
      if (type === 'built') return templateOf(template as TemplateView)
    }
    throw new HearthError('link_lost', `the server ended the build of ${name} without a result`)
  }

  /** Removes what was built. Refused with `template_in_use` while a sandbox or a snapshot lies on it. */
  async remove(name: string, options: CallOptions = {}): Promise<void> {
    await this.#http.done({ method: 'DELETE', path: pathOf(name), signal: options.signal, timeoutMs: null })
  }
}

/** Names of images have slashes, which are escaped; dots alone would lead elsewhere. */
function pathOf(name: unknown): string {
  if (typeof name === 'string' && !/^\.{0,2}$/.test(name)) return `/templates/${encodeURIComponent(name)}`
  throw new HearthError('invalid_request', 'template: must be the name of a template', {
    context: { field: 'template' },
  })
}

function templateOf({ name, digest, builtAt }: TemplateView): Template {
  return { name, digest, builtAt: builtAt === null ? null : new Date(builtAt) }
}
