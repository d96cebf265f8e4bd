import { below, isListed, LISTS, quoted, RUNG_WORDS, topLevel, type Verb } from './verb.ts'

/** One `complete` for each command and each option. */
export function fishScript(verbs: readonly Verb[]): string {
  const names = topLevel(verbs).map(({ words, description }) => {
    return `complete -c hearth -f -n __fish_use_subcommand -a ${words} -d ${fishQuoted(description)}\n`
  })
  const lines = verbs.flatMap((verb) => linesOf(verb, below(verbs, verb.words)))
  return `# fish completion of hearth: hearth completion fish > ~/.config/fish/completions/hearth.fish
${names.join('')}${lines.join('')}`
}

function linesOf(verb: Verb, second: readonly string[]): string[] {
  const seen = verb.words.split(' ').map((word) => `__fish_seen_subcommand_from ${word}`)
  const start = `complete -c hearth -n ${quoted(seen.join('; and '))}`
  const options = verb.options.map(({ short, long, description, takesValue }) => {
    const names = `${short === null ? '' : ` -s ${short.slice(1)}`} -l ${long.slice(2)}`
    const words = wordsOf(long)
    const values = words === null ? '' : ` -a ${quoted(words)}`
    return `${start}${names}${takesValue ? ' -x' : ''}${values} -d ${fishQuoted(description)}\n`
  })
  const words = [...second, ...verb.choices]
  if (words.length > 0) options.push(`${start} -f -a ${quoted(words.join(' '))}\n`)
  if (isListed(verb.completes)) options.push(`${start} -f -a '(${LISTS[verb.completes]} 2>/dev/null)'\n`)
  return options
}

/** What an option takes, where that is known. */
function wordsOf(option: string): string | null {
  if (option === '--rung' || option === '--at-least') return RUNG_WORDS
  return option === '--from' || option === '--since' ? '(hearth snapshot ls -q 2>/dev/null)' : null
}

/** In fish, a backslash before a quote is how it is written. */
function fishQuoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
