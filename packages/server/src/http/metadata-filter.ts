import type { AppContext } from './app-env.ts'

const METADATA = 'metadata.'

/** `metadata.KEY=VALUE` of a query, as many as there are. */
export function metadataFilter(context: AppContext): Record<string, string> {
  const entries = Object.entries(context.req.query()).filter(([name]) => name.startsWith(METADATA))
  return Object.fromEntries(entries.map(([name, value]) => [name.slice(METADATA.length), value]))
}
