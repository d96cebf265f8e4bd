import { Hearth as Engine } from '@hearth/engine'
import type { BuildTemplateOptions, Template, Templates } from '@hearth/sdk'
import { hasServer } from './has-server.ts'
import { withServer, type ServerOptions } from './with-server.ts'

/** The same calls with a server and without one. */
interface TemplateCalls extends Pick<Templates, 'list' | 'remove'> {
  build(name: string, options: BuildTemplateOptions): Promise<Template>
}

/** Does something with the templates of the server, where one was named or runs on this home; else with those of this home. */
export async function withTemplates<Result>(
  options: ServerOptions,
  work: (templates: TemplateCalls) => Promise<Result>,
): Promise<Result> {
  if (hasServer(options)) return await withServer(options, async ({ templates }) => await work(templates))
  await using engine = new Engine({ spareKeepers: 0 })
  const list = async (): Promise<Template[]> =>
    (await engine.templates.list()).map(({ name, digest, builtAt }) => ({ name, digest, builtAt }))
  return await work({
    list,
    build: async (wanted, { force = false, credentials = null, onProgress, signal }) => {
      const { name } = await engine.templates.build(wanted, {
        force,
        credentials,
        ...(onProgress === undefined ? {} : { onProgress }),
        ...(signal === undefined ? {} : { signal }),
      })
      return (await list()).find((built) => built.name === name) ?? { name, digest: null, builtAt: null }
    },
    remove: async (name) => await engine.removeTemplate(name),
  })
}
