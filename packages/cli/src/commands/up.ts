import { serve, type ServeOptions } from '@hearth/server'

export interface UpOptions {
  readonly port?: number
  readonly host?: string
  readonly database?: string
}

/** The server, in the foreground until it is told to end. Its sandboxes live on, and the next start takes them up. */
export async function up(options: UpOptions): Promise<number> {
  const wanted: ServeOptions = {
    ...(options.port === undefined ? {} : { port: options.port }),
    ...(options.host === undefined ? {} : { host: options.host }),
    ...(options.database === undefined ? {} : { database: options.database }),
  }
  const server = await serve(wanted)
  process.stderr.write(welcome(server.url, server.home, server.firstKey?.token ?? null))
  const signal = await firstSignal()
  process.stderr.write(`hearth: ${signal}, ending; sandboxes live on until their deadline\n`)
  await server.stop()
  return 0
}

function welcome(url: string, home: string, token: string | null): string {
  const key =
    token === null
      ? `Keys were made before; the first one is kept in ${home}/key.`
      : `A key was made. It is shown this once, and kept in ${home}/key:\n\n  ${token}\n`
  return `Hearth listens on ${url}\n\n${key}\n
Try it:
  export HEARTH_API_KEY=$(cat ${home}/key)
  curl -s ${url}/v1/sandboxes -H "authorization: Bearer $HEARTH_API_KEY" -H 'content-type: application/json' -d '{}'
  curl -s ${url}/v1/sandboxes -H "authorization: Bearer $HEARTH_API_KEY"
The whole API: ${url}/openapi.json
`
}

async function firstSignal(): Promise<string> {
  return await new Promise((resolve) => {
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => resolve(name))
  })
}
