import { effectiveConfiguration, serve, serveOptionsOf, type Server, type ServeOptions } from '@hearth/server'
import { HearthError } from '@hearth/sdk'
import { invocation } from '../output/invocation.ts'
import { upConfiguration, type UpOptions } from '../options/up-configuration.ts'
import { write } from '../output/write.ts'
import { recordServer } from '../server/server-record.ts'

/** The server, in the foreground until it is told to end. Its sandboxes live on, and the next start takes them up. */
export async function up(options: UpOptions): Promise<number> {
  // From here on an interrupt is a request to end in order, also while it starts.
  const ending = firstSignal()
  const { newKey = false, quiet = false } = options
  const level = quiet ? 'quiet' : options.verbose === true || options.json === true ? 'all' : 'usual'
  const configuration = await upConfiguration(options)
  const logLevel = logLevelOf(configuration.log?.level ?? undefined, level)
  const server = await serve({ ...(await serveOptionsOf(configuration)), newKey, logLevel }).catch(explain)
  await using record = await recordServer(server.home, server.url)
  void record
  if (!quiet) process.stderr.write(welcome(server, options))
  const signal = await ending
  if (!quiet) process.stderr.write(`hearth: ${signal}, ending; sandboxes live on until their deadline\n`)
  await server.stop()
  return 0
}

/** What `hearth up` with the same options would do, without starting anything. Secrets are left out. */
export async function printConfiguration(options: UpOptions): Promise<number> {
  await write(process.stdout, `${JSON.stringify(effectiveConfiguration(await upConfiguration(options)), null, 2)}\n`)
  return 0
}

/** People at a terminal see problems alone, unless they want more. */
function logLevelOf(
  configured: ServeOptions['logLevel'],
  wanted: 'quiet' | 'usual' | 'all',
): NonNullable<ServeOptions['logLevel']> {
  if (wanted === 'quiet') return configured === 'error' || configured === 'silent' ? configured : 'warn'
  if (wanted === 'all') return configured === 'debug' ? 'debug' : 'info'
  return configured ?? (process.stdout.isTTY ? 'warn' : 'info')
}

/** What the operating system says about an address, in words of ours. */
function explain(error: NodeJS.ErrnoException): never {
  if (!['EADDRINUSE', 'EADDRNOTAVAIL', 'EACCES', 'ENOTFOUND'].includes(error.code ?? '')) throw error
  throw new HearthError('conflict', `cannot listen on the address: ${error.message}`, {
    cause: error,
    suggestion:
      'Another program may be using it, or this user may not: choose another with --port, --host or --dialect.',
  })
}

const KEY_MADE: Readonly<Record<NonNullable<Server['firstKey']>['reason'], string>> = {
  first: 'A key was made.',
  none_works: 'No key of an operator works any more: all were revoked or have expired. Another one was made.',
  asked: 'Another key was made; the others still work, and `hearth key ls` shows them.',
}

function welcome({ url, home, dialects, firstKey }: Server, options: UpOptions): string {
  const hearth = invocation()
  const key =
    firstKey === null
      ? `The key that it made is in ${home}/key; the command line finds it there.`
      : `${KEY_MADE[firstKey.reason]} It is shown this once, and kept in ${home}/key for the command line:\n\n  ${firstKey.token}\n`
  const elsewhere = process.env['HEARTH_HOME'] === undefined ? '' : `export HEARTH_HOME=${home}\n  `
  const place = hearth === 'hearth' ? '' : `, in ${process.cwd()}`
  const more =
    options.verbose !== true && process.stdout.isTTY ? ' Only problems are shown here; --verbose shows all.' : ''
  const e2b =
    dialects['e2b'] === undefined
      ? ''
      : `E2B's SDKs: E2B_API_URL=${dialects['e2b']} E2B_SANDBOX_URL=${dialects['e2b']} E2B_API_KEY=(the same key)\n`
  const pandastack =
    dialects['pandastack'] === undefined
      ? ''
      : `PandaStack's SDK: PANDASTACK_API=${dialects['pandastack']} PANDASTACK_API_KEY=(the same key)\n`
  return `Hearth listens on ${url}. Ctrl-C ends it, sandboxes live on.${more}

${key}

Try it in another terminal${place}:
  ${elsewhere}${hearth} create                      a sandbox; prints its ID
  ${hearth} exec ID -- echo hello       a command in it; the last 4 characters of the ID will do
  ${hearth} shell ID                    a terminal in it
${hearth} --help shows the rest.
The API: ${url}/openapi.json
${e2b}${pandastack}`
}

/** A second interrupt ends it at once. Other signals may come twice, from a supervisor that tells the whole group and from a parent. */
async function firstSignal(): Promise<string> {
  return await new Promise((resolve) => {
    process.once('SIGINT', () => resolve('SIGINT'))
    for (const name of ['SIGTERM', 'SIGHUP'] as const) process.on(name, () => resolve(name))
  })
}
