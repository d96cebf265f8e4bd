import { below, groups, isListed, LISTS, quoted, RUNG_WORDS, topLevel, type Verb } from './verb.ts'

/** Commands and options with their descriptions, for `_arguments` and `_describe`. */
export function zshScript(verbs: readonly Verb[]): string {
  const names = topLevel(verbs).map(({ words, description }) => quoted(`${words}:${plain(description)}`))
  const cases = verbs.map((verb) => caseOf(verb, below(verbs, verb.words))).join('')
  const lists = Object.entries(LISTS)
    .map(([ids, list]) => `_hearth_${ids}() { local -a ids; ids=(\${(f)"$(${list} 2>/dev/null)"}); compadd -a ids }\n`)
    .join('')
  return `#compdef hearth
# zsh completion of hearth: hearth completion zsh > "\${fpath[1]}/_hearth"
${lists}_hearth() {
  local -a verbs
  verbs=(${names.join(' ')})
  if (( CURRENT == 2 )); then _describe command verbs; return; fi
  local verb=$words[2]
  if [[ $verb == (${groups(verbs)}) ]] && (( CURRENT > 3 )); then
    verb="$verb $words[3]"
    shift words; (( CURRENT-- ))
  fi
  shift words; (( CURRENT-- ))
  case $verb in
${cases}  esac
}
if [ "$funcstack[1]" = "_hearth" ]; then _hearth "$@"; else compdef _hearth hearth; fi
`
}

function caseOf(verb: Verb, second: readonly string[]): string {
  const options = verb.options.map(({ short, long, description, takesValue }) => {
    const names = short === null ? long : `(${short} ${long})${long}`
    const value = takesValue ? `:value:${valueOf(long)}` : ''
    return quoted(`${names}[${plain(description)}]${value}`)
  })
  return `    ${quoted(verb.words)}) _arguments ${[...options, quoted(rest(verb, second))].join(' ')} ;;\n`
}

function rest(verb: Verb, second: readonly string[]): string {
  const words = [...second, ...verb.choices]
  if (words.length > 0) return `1:what:(${words.join(' ')})`
  if (!isListed(verb.completes)) return '*:file:_files'
  const several = verb.completes !== 'sandboxes' && verb.words !== 'snapshot export'
  return `${several ? '*' : '1'}:${verb.completes}:_hearth_${verb.completes}`
}

/** What an option takes, where that is known. */
function valueOf(option: string): string {
  if (option === '--rung' || option === '--at-least') return `(${RUNG_WORDS})`
  return option === '--from' || option === '--since' ? '_hearth_snapshots' : ''
}

/** Without what has a meaning in the descriptions of options. */
function plain(text: string): string {
  return text.replaceAll(/[[\]:\\]/g, ' ')
}
