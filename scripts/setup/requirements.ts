import { existsSync } from 'node:fs'
import { findProgram } from './find-program.ts'
import { runCommand } from './run-command.ts'
import type { Distribution } from './distribution.ts'

/** A program that Hearth uses, and the Debian package that has it. */
export interface Requirement {
  readonly package: string
  /** Present when this program is found. */
  readonly program: string
  /** For what is no program: present when this file is there, too. */
  readonly file?: string
  readonly purpose: string
  /** Taken when the first choice is not to be had. */
  readonly alternative?: string
  /** A version that the program must have at least, and how it is read from what `--version` says. */
  readonly minimum?: { readonly version: number; readonly pattern: RegExp }
  /** On Debian 12 the release's own version is too old, or much slower. */
  readonly backports?: boolean
  /** Only needed to build the guest program: an installed package has it ready. */
  readonly build?: boolean
  /** Only needed to run the tests. */
  readonly test?: boolean
}

const REQUIREMENTS: readonly Requirement[] = [
  { package: 'git', program: 'git', purpose: 'repositories' },
  { package: 'openssh-client', program: 'ssh', purpose: 'repositories over ssh' },
  { package: 'gcc', program: 'gcc', purpose: 'the guest program', build: true },
  { package: 'make', program: 'make', purpose: 'the guest program', build: true },
  { package: 'musl-tools', program: 'musl-gcc', purpose: 'a small static guest program', build: true },
  { package: 'bubblewrap', program: 'bwrap', purpose: 'rung process' },
  { package: 'crun', program: 'crun', purpose: 'rung container', alternative: 'runc' },
  {
    package: 'runsc',
    program: 'runsc',
    purpose: 'rung gvisor',
    minimum: { version: 20_240_729, pattern: /(\d{8})/ },
    backports: true,
  },
  {
    package: 'qemu-system-x86',
    program: 'qemu-system-x86_64',
    purpose: 'rung microvm',
    backports: true,
  },
  { package: 'uidmap', program: 'newuidmap', purpose: 'user namespaces without root' },
  { package: 'btrfs-progs', program: 'mkfs.btrfs', purpose: 'the disk store' },
  { package: 'e2fsprogs', program: 'mkfs.ext4', purpose: 'disks of microvms' },
  { package: 'erofs-utils', program: 'mkfs.erofs', purpose: 'disks of microvms' },
  { package: 'mmdebstrap', program: 'mmdebstrap', purpose: 'Debian templates' },
  { package: 'fakeroot', program: 'fakeroot', purpose: 'Debian templates without root' },
  { package: 'python3', program: 'python3', purpose: 'python in the host template' },
  { package: 'clang', program: 'clang', purpose: 'fuzzers and sanitizers', test: true },
  { package: 'docker-registry', program: 'docker-registry', purpose: 'image tests', test: true },
  { package: 'skopeo', program: 'skopeo', purpose: 'image tests', test: true },
  { package: 'umoci', program: 'umoci', purpose: 'image tests', test: true },
  { package: 'podman', program: 'podman', purpose: 'engine API tests', test: true },
  { package: 'fish', program: 'fish', purpose: 'completion tests', test: true },
  { package: 'zsh', program: 'zsh', purpose: 'completion tests', test: true },
  { package: 'openssh-server', program: 'sshd', purpose: 'tests of ssh', test: true },
  { package: 'python3-pip', program: 'pip3', purpose: 'tests of programs behind the gateway', test: true },
  {
    package: 'python3-requests',
    program: 'python3',
    file: '/usr/lib/python3/dist-packages/requests/__init__.py',
    purpose: 'tests of programs behind the gateway',
    test: true,
  },
  {
    package: 'python3-matplotlib',
    program: 'python3',
    file: '/usr/lib/python3/dist-packages/matplotlib/__init__.py',
    purpose: 'tests of charts',
    test: true,
  },
  {
    package: 'python3-pandas',
    program: 'python3',
    file: '/usr/lib/python3/dist-packages/pandas/__init__.py',
    purpose: 'tests of tables',
    test: true,
  },
  { package: 'r-base-core', program: 'Rscript', purpose: 'tests of R', test: true },
  { package: 'default-jdk-headless', program: 'javac', purpose: 'tests of programs behind the gateway', test: true },
  { package: 'iproute2', program: 'ip', purpose: 'tests that attack the gateway', test: true },
  { package: 'postgresql', program: 'pg_lsclusters', purpose: 'tests of the state on Postgres', test: true },
]

/** A requirement that is not met, with the reason. */
export interface Missing {
  readonly requirement: Requirement
  readonly reason: string
}

/** What is missing here. Quick when nothing is: programs are looked for, only those with a minimum are started. */
export async function findMissing(options: {
  readonly tests: boolean
  /** Whether there are sources of the guest program to build. Default true. */
  readonly build?: boolean
}): Promise<Missing[]> {
  const { tests, build = true } = options
  const wanted = REQUIREMENTS.filter((one) => (tests || one.test !== true) && (build || one.build !== true))
  const checked = await Promise.all(
    wanted.map(async (requirement) => ({ requirement, reason: await whyMissing(requirement) })),
  )
  const missing = checked.filter((entry): entry is Missing => entry.reason !== null)
  return options.tests ? [...missing, ...(await missingFuzzerRuntime())] : missing
}

async function whyMissing(requirement: Requirement): Promise<string | null> {
  const program = await findProgram(requirement.program)
  if (program === null) return `${requirement.program} is not installed`
  if (requirement.file !== undefined && !existsSync(requirement.file)) return `${requirement.package} is not installed`
  if (requirement.minimum === undefined) return null
  const { stdout } = await runCommand(program, ['--version'])
  const version = Number(requirement.minimum.pattern.exec(stdout)?.[1] ?? 'NaN')
  if (version >= requirement.minimum.version) return null
  const found = Number.isNaN(version) ? 'does not tell its version' : `is version ${version}`
  return `${requirement.program} ${found}, and ${requirement.minimum.version} or newer is needed`
}

/** The sanitizers of clang are in a package that carries clang's major version in its name. */
async function missingFuzzerRuntime(): Promise<Missing[]> {
  const { code, stdout } = await runCommand('clang', ['--print-file-name=libclang_rt.fuzzer-x86_64.a'])
  if (code !== 0 || stdout.trim().startsWith('/')) return []
  const major = /\/(\d+)(?:\.[\d.]+)?\s*$/.exec((await runCommand('clang', ['--print-resource-dir'])).stdout)?.[1]
  if (major === undefined) return []
  const name = `libclang-rt-${major}-dev`
  const requirement = { package: name, program: 'clang', purpose: 'fuzzers and sanitizers', test: true }
  return [{ requirement, reason: `${name} is not installed` }]
}

/** Whether this release needs another suite for packages that are marked so. */
export function needsBackports(distribution: Distribution): boolean {
  return distribution.id === 'debian' && distribution.versionId === '12' && distribution.codename !== ''
}
