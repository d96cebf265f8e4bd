import { HearthError, type TemplateView } from '@hearth/contract'
import type { PrivateImage, PrivatePull, TemplateListing } from '@hearth/engine'
import type { Caller, Page, PageQuery, TemplateBuildOptions, TemplateControl } from '../control-plane.ts'
import { requireAllowedRegistry } from './allowed-template.ts'
import type { Context } from './context.ts'

/** The templates of this host: its engine keeps them, whichever process built them. */
export class LocalTemplates implements TemplateControl {
  readonly #context: Context
  readonly #requireOpen: () => void

  constructor(context: Context, requireOpen: () => void) {
    this.#context = context
    this.#requireOpen = requireOpen
  }

  async list(caller: Caller, { limit, cursor }: PageQuery): Promise<Page<TemplateView>> {
    this.#requireOpen()
    const { hearth, store } = this.#context
    const after = cursor === null ? '' : decodeName(cursor)
    const all = await hearth.templates.list()
    const own = caller.scopes.has('operator') ? null : new Set(await store.sandboxes.templatesOf(caller.tenantId))
    const visible = all.filter((found) => found.name > after && (own === null || found.builtIn || own.has(found.name)))
    const items = visible.slice(0, limit).map(templateView)
    const last = items.at(-1)
    return { items, next: last === undefined || visible.length <= limit ? null : encodeName(last.name) }
  }

  async build(_caller: Caller, name: string, options: TemplateBuildOptions): Promise<TemplateView> {
    this.#requireOpen()
    const { templates } = this.#context.hearth
    const built = await templates.build(name, {
      force: options.force,
      credentials: options.credentials,
      signal: options.signal,
      onProgress: options.onProgress,
    })
    const found = (await templates.list()).find((each) => each.name === built.name)
    // Whoever removed it in the same moment has the last word.
    if (found === undefined) throw new HearthError('template_not_found', `template ${name} was removed after its build`)
    return templateView(found)
  }

  async pull(
    caller: Caller,
    image: PrivateImage,
    options: Pick<TemplateBuildOptions, 'signal' | 'onProgress'>,
  ): Promise<PrivatePull> {
    this.#requireOpen()
    await requireAllowedRegistry(caller.scopes, image.name)
    return await this.#context.hearth.pullPrivately(image, options)
  }

  async remove(_caller: Caller, name: string): Promise<void> {
    this.#requireOpen()
    await this.#context.hearth.removeTemplate(name)
  }
}

function templateView({ name, digest, builtAt }: TemplateListing): TemplateView {
  return { name, digest, builtAt: builtAt?.toISOString() ?? null }
}

function encodeName(name: string): string {
  return Buffer.from(name).toString('base64url')
}

function decodeName(cursor: string): string {
  return Buffer.from(cursor, 'base64url').toString()
}
