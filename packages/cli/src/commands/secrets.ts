import { HearthError, type SecretBinding, type StoredSecret } from '@hearth/sdk'
import { invocation } from '../output/invocation.ts'
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
  readonly ssh?: boolean
  readonly hostKey?: readonly string[]
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
  const value = await valueOf(name, options)
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

/** A key has several lines, which nobody types. */
async function valueOf(name: string, { ssh }: SecretOptions): Promise<string> {
  if (ssh !== true || !process.stdin.isTTY) return await readSecret(`value of ${name}: `)
  throw new HearthError('invalid_request', 'a key of ssh is read from standard input', {
    suggestion: `Give it the file: \`${invocation()} secret set ${name} ... --ssh < KEYFILE\`.`,
  })
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

function placementOf({ header, basic, query, field, aws, ssh, hostKey }: SecretOptions): SecretBinding['placement'] {
  if (hostKey !== undefined && ssh !== true)
    throw new HearthError('invalid_request', '--host-key says which server a key of ssh may be shown to: use --ssh')
  const hostKeys = hostKey?.map(bareHostKey)
  const chosen: SecretBinding['placement'][] = [
    ...(header === undefined ? [] : [{ in: 'header' as const, header }]),
    ...(basic === true ? [{ in: 'basic' as const }] : []),
    ...(query === undefined ? [] : [{ in: 'query' as const, key: query }]),
    ...(field === undefined ? [] : [{ in: 'json' as const, field }]),
    ...(aws === true ? [{ in: 'aws' as const }] : []),
    ...(ssh === true ? [{ in: 'ssh' as const, ...(hostKeys === undefined ? {} : { hostKeys }) }] : []),
  ]
  const [only] = chosen
  if (only !== undefined && chosen.length === 1) return only
  throw new HearthError('invalid_request', 'a secret goes into one place of a request', {
    suggestion: 'Use one of --header NAME, --basic, --query KEY, --field NAME, --aws and --ssh.',
  })
}

/** As `ssh-keyscan` and lists of known hosts write it, with a name before it or a comment after it. */
function bareHostKey(line: string): string {
  return /(?:ssh|ecdsa)-\S+ [A-Za-z0-9+/]+={0,2}/.exec(line)?.[0] ?? line
}

function placementText(placement: SecretBinding['placement']): string {
  switch (placement.in) {
    case 'header':
      return `header ${placement.header}`
    case 'query':
      return `query ${placement.key}`
    case 'json':
      return `field ${placement.field}`
    case 'ssh':
      return placement.hostKeys === undefined ? 'ssh' : 'ssh, to servers with given keys'
    default:
      return placement.in
  }
}
