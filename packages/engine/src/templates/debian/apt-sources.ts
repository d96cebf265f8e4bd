import { execFile } from 'node:child_process'
import { access, readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { HearthError } from '@hearth/contract'

const run = promisify(execFile)

/** Where this machine gets its own packages from. */
export interface AptSources {
  readonly suite: string
  /** Lines of a sources.list. */
  readonly lines: readonly string[]
  /** Settings of apt that are needed to reach them: proxies and the like. */
  readonly options: readonly string[]
  readonly keyrings: readonly string[]
}

/** Settings without which the same sources might not answer as they answer the host. */
const PASSED_OPTIONS = /^Acquire::((https?|ftp)::proxy(::[^ ]+)?|Check-Valid-Until|Retries) "[^"]*";$/i
const KEYRINGS = [
  '/etc/apt/trusted.gpg.d',
  '/usr/share/keyrings/debian-archive-keyring.gpg',
  '/usr/share/keyrings/ubuntu-archive-keyring.gpg',
]

/** Reads the machine's own sources for its release and its updates; those of other vendors are left out. */
export async function readAptSources(): Promise<AptSources> {
  const suite = /^VERSION_CODENAME=(\S+)$/m.exec(await readFile('/etc/os-release', 'utf8'))?.[1]
  if (suite === undefined) throw unsupported('the release of this machine has no code name')
  const targets = await run('apt-get', [
    'indextargets',
    '--format',
    '$(REPO_URI)|$(RELEASE)|$(COMPONENT)|$(ORIGIN)',
    'Created-By: Packages',
  ]).catch((error: unknown) => {
    throw unsupported('apt-get does not tell its sources', error)
  })
  const lines = new Set<string>()
  for (const line of targets.stdout.split('\n')) {
    const [uri = '', release = '', component = '', origin = ''] = line.split('|')
    const isOwn = [suite, `${suite}-updates`, `${suite}-security`].includes(release)
    const isDistribution = origin.startsWith('$(') || ['', 'Debian', 'Ubuntu'].includes(origin)
    if (isOwn && isDistribution && ['main', 'universe'].includes(component))
      lines.add(`deb ${uri} ${release} ${component}`)
  }
  if (lines.size === 0) throw unsupported(`apt has no source for ${suite}`)
  return { suite, lines: [...lines], options: await passedOptions(), keyrings: await existing(KEYRINGS) }
}

async function passedOptions(): Promise<string[]> {
  const { stdout } = await run('apt-config', ['dump'])
  return stdout.split('\n').filter((line) => PASSED_OPTIONS.test(line))
}

async function existing(paths: readonly string[]): Promise<string[]> {
  const found = await Promise.all(
    paths.map(async (path) =>
      access(path).then(
        () => path,
        () => null,
      ),
    ),
  )
  return found.filter((path) => path !== null)
}

function unsupported(reason: string, cause?: unknown): HearthError {
  return new HearthError('template_build_failed', `a Debian root cannot be built here: ${reason}`, {
    cause,
    suggestion: 'Use the `host` template or an OCI image, or build on a Debian or Ubuntu machine with apt.',
  })
}
