import { HearthError, type SecretBinding, type StoredSecret } from '@hearth/sdk'
import { presentList, presentOne, type View } from '../output/present.ts'
import { printable } from '../output/printable.ts'
import { formatAge } from '../output/time.ts'
import { write, writeJson } from '../output/write.ts'
import { withServer, type ServerOptions } from '../server/with-server.ts'
import { readSecret } from '../terminal/read-secret.ts'

export interface SecretOptions extends ServerOptions {
  readonly for: string
  readonly header?: string
  readonly basic?: boolean
  readonly query?: string
  readonly field?: string
  readonly aws?: boolean
  readonly method?: readonly string[]
  readonly path?: readonly string[]
  readonly branch?: readonly string[]
}

const secretView: View<StoredSecret> = {
  header: ['NAME', 'FOR', 'IN', 'ONLY', 'AGE'],
  id: ({ name }) => name,
  row: ({ name, binding, updatedAt }) => [
    name,
    binding.name,
    printable(placementText(binding.placement)),
    printable([...(binding.methods ?? []), ...(binding.paths ?? []), ...(binding.branches ?? [])].join(' ')),
    formatAge(updatedAt),
  ],
}

/** The value comes from standard input or a prompt: what is on the command line can be seen by everybody on the machine. */
export async function setSecret(name: string, options: SecretOptions): Promise<number> {
  const binding = bindingOf(options)
  const value = await readSecret(`value of ${name}: `)
  const stored = await withServer(options, (hearth) => hearth.secrets.set(name, { value, binding }))
  await presentOne(options, { id: name, json: stored, people: () => `${name}\n` })
  return 0
}

export async function listSecrets(options: ServerOptions): Promise<number> {
  await presentList(options, await withServer(options, (hearth) => hearth.secrets.list()), secretView)
  return 0
}

export async function removeSecrets(names: readonly string[], options: ServerOptions): Promise<number> {
  await withServer(options, async (hearth) => {
    for (const name of names) {
      await hearth.secrets.remove(name)
      if (options.json !== true) await write(process.stdout, `${name}\n`)
    }
  })
  if (options.json === true) await writeJson(names.map((name) => ({ name, removed: true })))
  return 0
}

/** Names and ranges are checked by the server, which knows them. */
function bindingOf(options: SecretOptions): SecretBinding {
  const { for: name, method, path, branch } = options
  return {
    name,
    placement: placementOf(options),
    ...(method === undefined ? {} : { methods: method as NonNullable<SecretBinding['methods']> }),
    ...(path === undefined ? {} : { paths: [...path] }),
    ...(branch === undefined ? {} : { branches: [...branch] }),
  }
}

function placementOf({ header, basic, query, field, aws }: SecretOptions): SecretBinding['placement'] {
  const chosen: SecretBinding['placement'][] = [
    ...(header === undefined ? [] : [{ in: 'header' as const, header }]),
    ...(basic === true ? [{ in: 'basic' as const }] : []),
    ...(query === undefined ? [] : [{ in: 'query' as const, key: query }]),
    ...(field === undefined ? [] : [{ in: 'json' as const, field }]),
    ...(aws === true ? [{ in: 'aws' as const }] : []),
  ]
  const [only] = chosen
  if (only !== undefined && chosen.length === 1) return only
  throw new HearthError('invalid_request', 'a secret goes into one place of a request', {
    suggestion: 'Use one of --header NAME, --basic, --query KEY, --field NAME and --aws.',
  })
}

function placementText(placement: SecretBinding['placement']): string {
  switch (placement.in) {
    case 'header':
      return `header ${placement.header}`
    case 'query':
      return `query ${placement.key}`
    case 'json':
      return `field ${placement.field}`
    default:
      return placement.in
  }
}
