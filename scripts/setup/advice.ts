import { BACKPORTS_FILE, backportsSource, hasBackports, readAptSources } from './apt-sources.ts'
import type { Distribution } from './distribution.ts'
import { needsBackports, type Missing } from './requirements.ts'

/** The commands that a person has to run, because this process may not: exact where there is apt, names elsewhere. */
export async function installAdvice(missing: readonly Missing[], distribution: Distribution): Promise<string[]> {
  if (missing.length === 0) return []
  if (!distribution.apt) {
    const names = missing.map(({ requirement }) => requirement.package).join(' ')
    return [`Install with this system's package manager (the names are Debian's): ${names}`]
  }
  const special = needsBackports(distribution) ? missing.filter((entry) => entry.requirement.backports === true) : []
  const plain = missing.filter((entry) => !special.includes(entry))
  const packages = (entries: readonly Missing[]): string =>
    entries.map(({ requirement }) => requirement.package).join(' ')
  const commands: string[] = []
  if (special.length > 0) commands.push(...(await backportsCommands(distribution.codename)))
  if (plain.length > 0) commands.push(`sudo apt-get install -y --no-install-recommends ${packages(plain)}`)
  if (special.length > 0) {
    const suite = `${distribution.codename}-backports`
    commands.push(`sudo apt-get install -y --no-install-recommends -t ${suite} ${packages(special)}`)
  }
  return commands
}

async function backportsCommands(codename: string): Promise<string[]> {
  const sources = await readAptSources()
  if (hasBackports(sources, codename)) return []
  const text = backportsSource(sources, codename)
  if (text === null) return [`# add ${codename}-backports to the sources of apt first`]
  return [`sudo tee ${BACKPORTS_FILE} <<'END'\n${text}END`, 'sudo apt-get update']
}
