import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Sandbox } from '@hearth/contract'
import type { Hearth } from '@hearth/engine'
import type { FloorHelper } from './floor-helper.ts'
import type { FloorRoot } from './floor-root.ts'
import { commandOf, liveRuntime } from './live-runtime.ts'

interface Bundle {
  root: { path: string; readonly: boolean }
  process: { args: string[] }
  mounts: { destination: string; source: string }[]
  linux: { namespaces: { type: string }[]; [key: string]: unknown }
}

/** The bundle of a live sandbox as a person would write it: with its own user namespace and its limits, around another command. */
export function equalBundle(
  hearth: Hearth,
  sandbox: Sandbox,
  root: FloorRoot,
  args: string[] = ['/bin/echo', 'ready'],
): string {
  const source = join(hearth.paths.sandboxes, sandbox.id, 'bundle', 'config.json')
  const bundle = JSON.parse(readFileSync(source, 'utf8')) as Bundle
  const { memoryBytes, pids, cpus } = sandbox.info.limits
  const mapping = [{ containerID: 0, hostID: 0, size: 65_536 }]
  const changed = {
    ...bundle,
    root: { ...bundle.root, path: root.root },
    process: { ...bundle.process, args },
    mounts: bundle.mounts
      .filter((mount) => !mount.destination.startsWith('/.hearth'))
      .map((mount) => ({ ...mount, source: mount.source.replace(bundle.root.path, root.root) })),
    linux: {
      ...bundle.linux,
      namespaces: [...bundle.linux.namespaces, { type: 'user' }],
      uidMappings: mapping,
      gidMappings: mapping,
      resources: {
        memory: { limit: memoryBytes },
        pids: { limit: pids },
        cpu: { quota: cpus * 100_000, period: 100_000 },
      },
    },
  }
  const directory = join(root.directory, `bundle-${sandbox.id}`)
  mkdirSync(directory, { recursive: true })
  writeFileSync(join(directory, 'config.json'), JSON.stringify(changed))
  return directory
}

/** `crun run` of an equal bundle, as it comes: it makes and joins the control groups itself. */
export function crunFloor(
  hearth: Hearth,
  sandbox: Sandbox,
  root: FloorRoot,
  helper: FloorHelper,
): () => Promise<number> {
  const bundle = equalBundle(hearth, sandbox, root)
  const { argv } = commandOf(liveRuntime(hearth, sandbox), /^(crun|runc)$/)
  const state = join(root.directory, 'oci-state')
  let count = 0
  return async () =>
    await helper.measure({
      argv: [argv[0] ?? 'crun', '--root', state, 'run', '--bundle', bundle, `floor-${process.pid}-${count++}`],
      until: 'output',
    })
}

/** `runsc run` of an equal bundle with the options of a live sandbox. */
export function runscFloor(
  hearth: Hearth,
  sandbox: Sandbox,
  root: FloorRoot,
  helper: FloorHelper,
): () => Promise<number> {
  const bundle = equalBundle(hearth, sandbox, root)
  const runsc = runscWords(hearth, sandbox, join(root.directory, 'runsc-state'))
  let count = 0
  return async () =>
    await helper.measure({
      argv: [...runsc, 'run', '--bundle', bundle, `floor-${process.pid}-${count++}`],
      until: 'output',
    })
}

/** The program of a live sandbox and its options, up to the command, with another state directory. */
export function runscWords(hearth: Hearth, sandbox: Sandbox, state: string): string[] {
  const { argv } = commandOf(liveRuntime(hearth, sandbox), /^runsc$/)
  const options = argv
    .slice(1, argv.indexOf('run'))
    .filter((word, index, all) => !isRootOption(word) && !isRootOption(all[index - 1] ?? ''))
  return [argv[0] ?? 'runsc', '--root', state, ...options]
}

function isRootOption(word: string): boolean {
  return /^--?root(=.*)?$/.test(word)
}

/** `podman run` on the same root, without a network. */
export function podmanFloor(root: FloorRoot, helper: FloorHelper): () => Promise<number> {
  return async () =>
    await helper.measure({
      argv: [
        '/usr/bin/podman',
        '--cgroup-manager=cgroupfs',
        'run',
        '--rm',
        '--network=none',
        '--ulimit=nofile=1024:1024',
        '--ulimit=nproc=1024:1024',
        '--volume=/usr:/usr:ro',
        '--rootfs',
        `${root.root}:O`,
        '/bin/echo',
        'ready',
      ],
      until: 'output',
    })
}
