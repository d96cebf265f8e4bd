import { HearthError, type Sandbox } from '@hearth/contract'
import type { BuildLog } from './build-log.ts'
import type { CopyStep, Place } from './recipe.ts'

/**
 * What was sent lies below `$1`. A directory gives its content to the target, which is then a directory; a file becomes the target, or goes into it
 * when it ends with a slash or is a directory. A pattern gives all that it matched, with the directories below its fixed part. Links stay links.
 */
const SCRIPT = `set -eu
stage=$1 source=$2 target=$3 owner=$4 mode=$5
case $target in /*) ;; *) target=$PWD/$target ;; esac
cd "$stage"
if [ ! -e "$source" ] && [ ! -L "$source" ]; then
  fixed=\${source%%[*?[{]*}
  [ "$fixed" != "$source" ] || { echo "$source is not among the files of the build" >&2; exit 1; }
  case $fixed in */*) source=\${fixed%/*} ;; *) source=. ;; esac
fi
chown -hR "$owner" "$source"
[ -z "$mode" ] || chmod -R "$mode" "$source"
if [ -d "$source" ] && [ ! -L "$source" ]; then
  mkdir -p "$target"
  cp -a "$source/." "$target/"
else
  case $target in */) mkdir -p "$target" ;; *) mkdir -p "$(dirname "$target")" ;; esac
  cp -a "$source" "$target"
fi`

/** Files of the client's, as root, in the place that the recipe has reached. */
export async function copyFiles(
  sandbox: Sandbox,
  log: BuildLog,
  step: CopyStep,
  { user, workdir }: Place,
  options: { readonly number: number; readonly signal: AbortSignal },
): Promise<void> {
  const { signal } = options
  const stage = `/tmp/hearth-build-${options.number}`
  await sandbox.files.makeDirectory(stage, { parents: true })
  try {
    await sandbox.files.extract(stage, step.archive(), { signal })
    const owner = step.owner ?? user ?? 'root'
    const args = [stage, step.source, step.target, owner, step.mode ?? '']
    const { exitCode, output } = await sandbox.exec(['/bin/sh', '-c', SCRIPT, 'copy', ...args], {
      user: 'root',
      cwd: workdir ?? '/',
      timeoutMs: sandbox.info.limits.wallTimeMs,
      signal,
    })
    for (const line of output.split('\n')) if (line !== '') log.say(line)
    if (exitCode === 0) return
    throw new HearthError('template_build_failed', `failed to copy ${step.source} to ${step.target}: ${output.trim()}`)
  } finally {
    await sandbox.files.remove(stage, { recursive: true, force: true })
  }
}
