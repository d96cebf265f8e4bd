/** What the completion of a shell is told about one command. */
export interface Verb {
  /** `exec`, or `key create` for one of a group. */
  readonly words: string
  readonly description: string
  readonly options: readonly {
    readonly short: string | null
    readonly long: string
    readonly description: string
    readonly takesValue: boolean
  }[]
  /** What its arguments are. */
  readonly completes: keyof typeof LISTS | 'paths' | 'nothing'
  readonly choices: readonly string[]
}

/** The commands that list what an argument can be. */
export const LISTS = {
  sandboxes: 'hearth ls -q',
  snapshots: 'hearth snapshot ls -q',
  volumes: 'hearth volume ls -q',
  templates: 'hearth template ls -q',
  repositories: 'hearth repo ls -q',
  workspaces: 'hearth workspace ls -q',
  keys: 'hearth key ls -q',
} as const

export function isListed(completes: Verb['completes']): completes is keyof typeof LISTS {
  return Object.hasOwn(LISTS, completes)
}

export const RUNG_WORDS = 'simulated process container gvisor microvm'

/** A word of a shell that means itself: in single quotes, whatever it holds. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

/** Names of commands at the top, each once. */
export function topLevel(verbs: readonly Verb[]): readonly Verb[] {
  return verbs.filter(({ words }) => !words.includes(' '))
}

/** Names of commands that have others below them. */
export function groups(verbs: readonly Verb[]): string {
  return topLevel(verbs)
    .map(({ words }) => words)
    .filter((words) => below(verbs, words).length > 0)
    .join('|')
}

/** The second words of a group of commands. */
export function below(verbs: readonly Verb[], group: string): readonly string[] {
  return verbs.filter(({ words }) => words.startsWith(`${group} `)).map(({ words }) => words.slice(group.length + 1))
}
