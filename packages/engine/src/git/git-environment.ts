/**
 * Nothing of the host's or of a user's configuration counts, and nothing but git itself is run: no hook, filter, pager, credential helper,
 * file system monitor or maintenance. Repeated on the command line, where nothing that a repository says comes before it.
 */
const CONFIGURATION = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.attributesFile=/dev/null',
  'core.excludesFile=/dev/null',
  'core.pager=cat',
  'core.compression=1',
  'core.protectNTFS=false',
  'core.protectHFS=false',
  'core.alternateRefsCommand=',
  'credential.helper=',
  'gc.auto=0',
  'maintenance.auto=false',
  'protocol.allow=never',
  'submodule.recurse=false',
] as const

/** Reach of one call beyond its own repository. Without it git opens no connection and reads no other repository. */
export interface GitReach {
  /** Protocols that may be spoken, as git names them: `https`, `http`, `git`, `ssh`, `file`. */
  readonly protocols: readonly string[]
  /** Configuration that is nobody's secret, as `key=value`. */
  readonly configuration?: readonly string[]
  /** Configuration that must not be seen in the list of processes, such as a header with a token. */
  readonly confidential?: readonly (readonly [key: string, value: string])[]
  /** Further variables, for `ssh` for example. */
  readonly environment?: Readonly<Record<string, string>>
}

/** What comes before the command. */
export function configurationArguments(reach: GitReach | undefined): string[] {
  const allowed = (reach?.protocols ?? []).map((protocol) => `protocol.${protocol}.allow=always`)
  return [...CONFIGURATION, ...allowed, ...(reach?.configuration ?? [])].flatMap((line) => ['-c', line])
}

export interface GitPlace {
  readonly directory: string
  readonly workTree?: string
  readonly indexFile?: string
}

/** All that git knows of its surroundings: nothing of this process' own environment but where programs are. */
export function gitEnvironment(place: GitPlace, reach: GitReach | undefined): Record<string, string> {
  const { directory, workTree, indexFile } = place
  return {
    PATH: process.env['PATH'] ?? '/usr/bin:/bin',
    HOME: directory,
    LC_ALL: 'C',
    GIT_DIR: directory,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    // What a repository says of one protocol by name would count for more than what is said of all of them.
    GIT_ALLOW_PROTOCOL: (reach?.protocols ?? []).join(':'),
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_NO_LAZY_FETCH: '1',
    ...(workTree === undefined ? {} : { GIT_WORK_TREE: workTree }),
    ...(indexFile === undefined ? {} : { GIT_INDEX_FILE: indexFile }),
    ...reach?.environment,
    ...confidentialEnvironment(reach?.confidential ?? []),
  }
}

function confidentialEnvironment(entries: readonly (readonly [key: string, value: string])[]): Record<string, string> {
  const pairs = entries.flatMap(([key, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, key],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ])
  return entries.length === 0 ? {} : { GIT_CONFIG_COUNT: String(entries.length), ...Object.fromEntries(pairs) }
}
