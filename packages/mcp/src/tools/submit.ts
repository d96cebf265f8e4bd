import { posix } from 'node:path'
import { z } from 'zod'
import { READS, sandboxTool, type Tool } from '../tool.ts'

/** What clients show of a result at the most; the whole patch is in the sandbox. */
const MOST_CHARACTERS = 40_000
const SUBMIT_MS = 45_000

/** With an index of its own: what the person or the model has staged stays as it is. */
const SCRIPT = `set -eu
target=$1
git rev-parse --show-toplevel > /dev/null
index=$(mktemp -u)
trap 'rm -f "$index"' EXIT
export GIT_INDEX_FILE=$index
base=$(git rev-parse --verify -q HEAD || git hash-object -t tree /dev/null)
git read-tree "$base"
git add -A -- "$(git rev-parse --show-toplevel)"
mkdir -p "$(dirname "$target")"
git diff --cached --binary "$base" > "$target"
git diff --cached --name-only "$base"`

/** What was done in a repository, for whoever takes it from here. It leaves the sandbox as text, and by no other way. */
const submit = sandboxTool({
  name: 'submit',
  title: 'Submit the changes',
  description:
    'Gives all changes of a git repository in the sandbox since its last commit, new files included, as one patch for `git apply`. Call it when the work is done.',
  input: { path: z.string().max(4096).optional().describe('In the repository. Default: the working directory.') },
  output: {
    patch: z.string(),
    files: z.array(z.string()),
    truncated: z.boolean(),
    patchFile: z.string().describe('The whole patch, in the sandbox.'),
  },
  annotations: READS,
  run: async ({ path }, { workplace: { sandbox, workdir, keptDirectory }, signal }) => {
    const patchFile = posix.join(keptDirectory, 'submit.patch')
    const cwd = posix.resolve(workdir, path ?? '.')
    const made = await sandbox.exec(['/bin/sh', '-c', SCRIPT, 'submit', patchFile], {
      cwd,
      signal,
      timeoutMs: SUBMIT_MS,
    })
    if (made.exitCode !== 0) {
      const why = made.timedOut ? 'it took too long' : made.stderr.trim()
      return {
        text: `${cwd}: no patch could be made: ${why}\n\`diff\` lists changed files of any directory.`,
        failed: true,
      }
    }
    const files = made.stdout.split('\n').filter((line) => line !== '')
    const whole = files.length === 0 ? '' : await sandbox.files.readText(patchFile)
    const truncated = whole.length > MOST_CHARACTERS
    const patch = truncated ? whole.slice(0, MOST_CHARACTERS) : whole
    const more = truncated ? `\n(cut here; the whole patch is in the sandbox at ${patchFile})` : ''
    const text = files.length === 0 ? 'nothing has changed since the last commit' : patch + more
    return { text, structured: { patch, files, truncated, patchFile } }
  },
})

export const SUBMIT_TOOLS: readonly Tool[] = [submit]
