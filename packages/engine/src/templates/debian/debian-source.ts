import { createHash } from 'node:crypto'
import { access, constants, lstat, mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { HearthError } from '@hearth/contract'
import { BASE_FILES, TEMPLATE_DEFAULTS, TEMPLATE_USER } from '../base-files.ts'
import type { BuildContext, BuiltTemplate, TemplateSource } from '../template-source.ts'
import { LayerUnpacker } from '../oci/layer-unpacker.ts'
import { UNPACK_LIMITS } from '../oci/image-limits.ts'
import { type AptSources, readAptSources } from './apt-sources.ts'
import { type DebianRecipe, recipeDigest } from './recipe.ts'
import { runBuild } from './run-build.ts'
import { settleTimes } from './settle-times.ts'

/** Pages and translations that nobody reads in a sandbox are most of the size of many packages. */
const LEFT_OUT = [
  'path-exclude=/usr/share/man/*',
  'path-exclude=/usr/share/doc/*',
  'path-include=/usr/share/doc/*/copyright',
  'path-exclude=/usr/share/locale/*',
  'path-exclude=/usr/share/info/*',
  // Headers of 160 MB that come with scipy's compiler and that nothing here includes.
  'path-exclude=/usr/include/boost/*',
]

const WITHOUT_ROOT =
  'Without root this needs the package uidmap and ids of your own in /etc/subuid and /etc/subgid. Add them, build as root, or use the `host` template.'

/** A Debian root, made by mmdebstrap from the machine's own package sources. */
export class DebianSource implements TemplateSource {
  readonly #recipe: DebianRecipe

  constructor(recipe: DebianRecipe) {
    this.#recipe = recipe
  }

  async identity(): Promise<string> {
    return recipeDigest(this.#recipe)
  }

  async build({ workspace, progress, signal, has }: BuildContext): Promise<BuiltTemplate> {
    await requireMmdebstrap()
    const sources = await readAptSources()
    const root = join(workspace, 'root')
    const tell = (line: string): void => progress(`${this.#recipe.name}: ${line}`)
    const isRoot = process.getuid?.() === 0
    const began = new Date()
    const options = [...mmdebstrapOptions(this.#recipe, sources), `--mode=${isRoot ? 'root' : 'unshare'}`]
    tell(`installing ${this.#recipe.packages.length} packages of ${sources.suite}; this takes a few minutes`)
    await runBuild({
      tool: 'mmdebstrap',
      suggestion: isRoot ? null : WITHOUT_ROOT,
      argv: [...guard(isRoot), 'mmdebstrap', ...options, sources.suite, isRoot ? root : '-', '-'],
      input: `${sources.lines.join('\n')}\n`,
      progress: tell,
      signal,
      consume: isRoot ? drain : async (output) => await unpack(output, root, signal),
    })
    await emptyDevices(root)
    await settleTimes(root, began)
    const digest = await digestOf(root, this.#recipe)
    return { digest, root: (await has(digest)) ? null : root, ...TEMPLATE_DEFAULTS }
  }
}

/**
 * As root the build has mounts of its own: none is ever visible here, so that removing a workspace cannot reach through one.
 * The build ends when we do.
 */
function guard(isRoot: boolean): string[] {
  const namespace = isRoot ? ['unshare', '--mount', '--propagation', 'private', '--'] : []
  return [...namespace, 'setpriv', '--pdeathsig', 'TERM', '--']
}

function mmdebstrapOptions(recipe: DebianRecipe, sources: AptSources): string[] {
  return [
    '--variant=minbase',
    '--verbose',
    '--format=' + (process.getuid?.() === 0 ? 'directory' : 'tar'),
    `--include=${recipe.packages.join(',')}`,
    ...LEFT_OUT.map((option) => `--dpkgopt=${option}`),
    // A crash leaves nothing behind that could be used, so nothing need reach the disk step by step.
    '--dpkgopt=force-unsafe-io',
    ...sources.options.map((option) => `--aptopt=${option}`),
    ...sources.keyrings.map((path) => `--keyring=${path}`),
    ...customizeHooks().map((hook) => `--customize-hook=${hook}`),
  ]
}

/** Run by mmdebstrap with the root as `$1`. */
function customizeHooks(): string[] {
  const { name, id } = TEMPLATE_USER
  const identity = BASE_FILES.filter(({ path }) => ['/etc/hosts', '/etc/hostname', '/etc/resolv.conf'].includes(path))
  return [
    `chroot "$1" useradd --create-home --uid ${id} --shell /bin/bash ${name}`,
    `mkdir -p "$1/workspace" && chown ${id}:${id} "$1/workspace"`,
    ...identity.map(({ path, content }) => `rm -f "$1${path}" && printf %s ${quote(content)} > "$1${path}"`),
    // No program gains privileges in a sandbox, and an old setuid copy must not lie around on the host.
    'find "$1" -xdev -type f -perm /6000 -exec chmod ug-s {} +',
    // The host's proxies and passwords stay with the host.
    'rm -f "$1/etc/apt/apt.conf.d/99mmdebstrap"',
    String.raw`sed -i -E 's#//[^/@ ]*@#//#' "$1/etc/apt/sources.list"`,
  ]
}

async function drain(output: Readable): Promise<void> {
  output.resume()
}

/** Without root the tool gives an archive, because its owners could not be kept in a directory that we can remove again. */
async function unpack(output: Readable, root: string, signal: AbortSignal): Promise<void> {
  await mkdir(root)
  const unpacker = new LayerUnpacker(root, UNPACK_LIMITS)
  await unpacker.unpack(output as AsyncIterable<Uint8Array>, signal)
  unpacker.finish()
}

/** SAFETY: a template holds no device nodes; every runtime makes its own /dev. The root has no mounts that we could see. */
async function emptyDevices(root: string): Promise<void> {
  const devices = join(root, 'dev')
  if ((await lstat(devices)).dev !== (await lstat(root)).dev) throw new HearthError('internal', `${devices} is a mount`)
  for (const name of await readdir(devices)) await rm(join(devices, name), { recursive: true })
}

/** The same packages in the same versions by the same steps are the same root. */
async function digestOf(root: string, recipe: DebianRecipe): Promise<string> {
  const status = await readFile(join(root, 'var/lib/dpkg/status'), 'utf8')
  const packages = status.split('\n\n').flatMap((entry) => {
    const name = /^Package: (.*)$/m.exec(entry)?.[1]
    return name === undefined ? [] : [`${name}=${/^Version: (.*)$/m.exec(entry)?.[1]}`]
  })
  if (packages.length === 0) throw new HearthError('template_build_failed', 'the root has no packages')
  const owners = process.getuid?.() === 0 ? 'kept' : 'lost'
  const content = JSON.stringify([recipeDigest(recipe), process.arch, owners, packages.toSorted()])
  return `sha256:${createHash('sha256').update(content).digest('hex')}`
}

async function requireMmdebstrap(): Promise<void> {
  for (const directory of ['/usr/bin', '/usr/local/bin', '/bin']) {
    const found = await access(join(directory, 'mmdebstrap'), constants.X_OK).then(
      () => true,
      () => false,
    )
    if (found) return
  }
  throw new HearthError('template_build_failed', 'mmdebstrap is not installed', {
    suggestion: 'Install it, for example with `apt-get install mmdebstrap`, or use the `host` template.',
  })
}

function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
