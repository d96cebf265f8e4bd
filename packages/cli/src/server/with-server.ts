import { Hearth, HearthError } from '@hearth/sdk'
import { invocation } from '../output/invocation.ts'
import type { Presentation } from '../output/present.ts'
import { findServer, type FoundServer } from './find-server.ts'
import { keyFile } from './home.ts'

export interface ServerOptions extends Presentation {
  /** Of a server on this machine. */
  readonly port?: number
}

/** Does something with the server. Failures that this machine's settings explain say which setting. */
export async function withServer<Result>(
  options: ServerOptions,
  work: (hearth: Hearth) => Promise<Result>,
): Promise<Result> {
  const server = findServer(options.port)
  try {
    return await work(new Hearth({ url: server.url, apiKey: server.apiKey ?? '' }))
  } catch (error) {
    throw HearthError.isInstance(error) ? explained(error, server) : error
  }
}

function explained(error: HearthError, server: FoundServer): HearthError {
  if (error.code === 'unauthorized') return withRemedy(error, error.message, keyRemedy(server))
  const refused = /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH/.exec(error.message)
  if (error.code !== 'link_lost' || refused === null) return error
  const remedy = server.isLocal
    ? `Start one with \`${invocation()} up\` (in a clone: \`npm start\`), or set HEARTH_URL to where it runs.`
    : 'Check HEARTH_URL, and that the server runs there.'
  return withRemedy(error, `no server answers at ${server.url} (${refused[0]})`, remedy)
}

function keyRemedy(server: FoundServer): string {
  switch (server.keySource) {
    case 'environment':
      return `HEARTH_API_KEY is not a key of ${server.url}, or not any more. The first key of a server is in the file \`key\` of its HEARTH_HOME (here ${keyFile()}).`
    case 'file':
      return `The key in ${keyFile()} is not one of ${server.url}, or not any more: set HEARTH_API_KEY, or HEARTH_HOME to that of the server; \`hearth up --new-key\` makes another.`
    case 'none':
      return server.isLocal
        ? `HEARTH_API_KEY is not set, and ${keyFile()} is not there: set it, or HEARTH_HOME to that of the server.`
        : 'Set HEARTH_API_KEY to a key of that server; `hearth key create` makes one there.'
  }
}

function withRemedy(error: HearthError, message: string, suggestion: string): HearthError {
  const { code, retryable, context, requestId } = error
  return new HearthError(code, message, { cause: error, suggestion, retryable, context, requestId })
}
