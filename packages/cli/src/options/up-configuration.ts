import { dialectsOfConfiguration, readConfiguration, type Configuration } from '@hearth/server'
import { dialectsOf, withNetworks, withReach } from './dialect-option.ts'
import { withoutUndefined } from './sandbox-options.ts'

export interface UpOptions {
  /** A file of settings; the other options win over it. */
  readonly config?: string
  readonly printConfig?: boolean
  readonly port?: number
  readonly host?: string
  readonly database?: string
  /** What the pool may hold of memory; 0 for none. */
  readonly pool?: number
  /** What was asked for; empty for the default. */
  readonly dialect?: readonly string[]
  /** What sandboxes and builds of dialects may reach that name nothing. */
  readonly dialectAllow?: readonly string[]
  /** Networks that are not public and may be told events nevertheless. */
  readonly webhookNetwork?: readonly string[]
  readonly newKey?: boolean
  readonly previewDomain?: string
  readonly publicUrl?: string
  readonly verbose?: boolean
  readonly json?: boolean
  readonly quiet?: boolean
}

type Settings = NonNullable<Configuration['dialects']>

/** The settings of the file, if there is one, with what the options say instead. */
export async function upConfiguration(options: UpOptions): Promise<Configuration> {
  const file = options.config === undefined ? {} : await readConfiguration(options.config)
  const { port, host, publicUrl, previewDomain, database, pool } = options
  const configuration: Configuration = {
    ...file,
    ...withoutUndefined({ publicUrl, previewDomain }),
    listen: { ...file.listen, ...withoutUndefined({ port, host }) },
    // The password of the file is that of its own database.
    ...(database === undefined ? {} : { database: { url: database } }),
    ...(pool === undefined ? {} : { pool: { ...(file.pool === false ? {} : file.pool), memoryBytes: pool } }),
  }
  return { ...configuration, dialects: dialects(configuration, options) }
}

function dialects(file: Configuration, options: UpOptions): Settings {
  const { dialect = [], dialectAllow = [], webhookNetwork = [] } = options
  const host = file.listen?.host
  const { e2b, pandastack, policy } = dialectsOfConfiguration(
    { ...file.dialects, ...chosen(file, dialect, host) },
    host,
  )
  const spoken = withoutUndefined({ e2b, pandastack })
  const { policy: allowed, ...all } = withReach(withNetworks(spoken, webhookNetwork), dialectAllow)
  return { e2b: false, pandastack: false, policy: allowed ?? policy ?? null, ...all }
}

/** `--dialect` says which there are; what else the file says of them holds. */
function chosen({ dialects = {} }: Configuration, given: readonly string[], host?: string): Settings {
  if (given.length === 0) return {}
  const { e2b, pandastack } = dialectsOf(given, host)
  return {
    e2b: e2b !== undefined && { ...dialects.e2b, optional: false, ...e2b },
    pandastack: pandastack !== undefined && { ...dialects.pandastack, optional: false, ...pandastack },
  }
}
