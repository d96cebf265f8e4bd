import { below, groups, isListed, LISTS, quoted, RUNG_WORDS, topLevel, type Verb } from './verb.ts'

/** Words for `compgen`, by command; ids are asked for when they are wanted. */
export function bashScript(verbs: readonly Verb[]): string {
  const names = topLevel(verbs).map(({ words }) => words)
  const cases = verbs.map((verb) => caseOf(verb, below(verbs, verb.words))).join('')
  const lists = Object.entries(LISTS)
    .map(([ids, list]) => `    ${ids}) words="$words $(${list} 2>/dev/null)" ;;\n`)
    .join('')
  return `# bash completion of hearth: source <(hearth completion bash)
_hearth() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} verb=\${COMP_WORDS[1]} options= words= ids=
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W ${quoted([...names, '--help', '--version'].join(' '))} -- "$current"))
    return
  fi
  case "$previous" in
    --rung|--at-least) COMPREPLY=($(compgen -W ${quoted(RUNG_WORDS)} -- "$current")); return ;;
    --from|--since) COMPREPLY=($(compgen -W "$(hearth snapshot ls -q 2>/dev/null)" -- "$current")); return ;;
  esac
  case "$verb" in ${groups(verbs)}) [ "$COMP_CWORD" -gt 2 ] && verb="$verb \${COMP_WORDS[2]}" ;; esac
  case "$verb" in
${cases}  esac
  case "$current" in
    -*) COMPREPLY=($(compgen -W "$options" -- "$current")); return ;;
  esac
  case "$ids" in
${lists}  esac
  if [ -n "$words" ]; then COMPREPLY=($(compgen -W "$words" -- "$current")); else COMPREPLY=($(compgen -f -- "$current")); fi
}
complete -o filenames -o nosort -F _hearth hearth 2>/dev/null || complete -F _hearth hearth
`
}

function caseOf(verb: Verb, second: readonly string[]): string {
  const options = verb.options.flatMap(({ short, long }) => (short === null ? [long] : [short, long]))
  const parts = [`options=${quoted(options.join(' '))}`]
  if (second.length > 0) parts.push(`words=${quoted(second.join(' '))}`)
  if (verb.choices.length > 0) parts.push(`words=${quoted(verb.choices.join(' '))}`)
  if (isListed(verb.completes)) parts.push(`ids=${verb.completes}`)
  return `    ${quoted(verb.words)}) ${parts.join('; ')} ;;\n`
}
