import { execFileSync } from 'node:child_process'
import { readFileSync, realpathSync } from 'node:fs'
import { basename } from 'node:path'
import { layer, type Layer } from '../../packages/engine/src/templates/oci/test-registry/images.ts'

const PROGRAMS = ['sh', 'bash', 'id', 'mkdir', 'chown', 'cat', 'env']

/** A layer with a shell and a few programs of this machine, what they need to run, and the user that E2B's builds have. */
export function shellLayer(files: Readonly<Record<string, string>>): Layer {
  const paths = PROGRAMS.map((name) => realpathSync(execFileSync('which', [name], { encoding: 'utf8' }).trim()))
  const libraries = paths.flatMap((path) => execFileSync('ldd', [path], { encoding: 'utf8' }).match(/\/\S+/g) ?? [])
  return layer([
    ...paths.map((path, index) => ({
      path: `bin/${PROGRAMS[index] ?? basename(path)}`,
      content: readFileSync(path),
      mode: 0o755,
    })),
    ...[...new Set(libraries)].map((path) => ({ path: path.slice(1), content: readFileSync(path), mode: 0o755 })),
    { path: 'etc/passwd', content: 'root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh\n' },
    { path: 'etc/group', content: 'root:x:0:\nuser:x:1000:\n' },
    ...Object.entries(files).map(([path, content]) => ({ path, content })),
  ])
}
