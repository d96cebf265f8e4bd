import { posix } from 'node:path'
import type { Hearth, RemoteSandbox, Workspace } from '@hearth/sdk'
import { z } from 'zod'
import { CHANGES, inTime, sandboxTool, type Answer, type Tool } from '../tool.ts'

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

/** What was done in a repository, for whoever takes it from here: as text, or as a branch that the host pushes. */
const submit = sandboxTool({
  name: 'submit',
  title: 'Submit the changes',
  description:
    'Gives all changes of a git repository in the sandbox since its last commit, new files included, as one patch for `git apply`. With `message`, in a sandbox with a workspace, it commits /workspace and pushes its branch instead. Call it when the work is done.',
  input: {
    path: z.string().max(4096).optional().describe('In the repository. Default: the working directory.'),
    message: z.string().min(1).max(65_536).optional().describe('Of the commit to push.'),
    pull_request: z.boolean().optional().describe('Ask for a merge, titled with the first line of the message.'),
  },
  output: {
    patch: z.string(),
    files: z.array(z.string()),
    truncated: z.boolean(),
    patchFile: z.string().optional().describe('The whole patch, in the sandbox.'),
    branch: z.string().optional().describe('That was pushed.'),
    commit: z.string().optional(),
    pullRequest: z.string().optional().describe('Its address.'),
  },
  annotations: { ...CHANGES, openWorldHint: true },
  run: async ({ path, message, pull_request }, context) => {
    const { session, workplace, signal } = context
    const { sandbox, workdir, keptDirectory } = workplace
    if (message !== undefined) {
      const call = { name: ['submit', message, pull_request], what: 'the changes are still being pushed' }
      return await inTime(
        context,
        call,
        async (ending) => await push(session.hearth, sandbox, { message, pull_request, signal: ending }),
      )
    }
    if (pull_request === true) return { text: 'a pull request needs a `message`', failed: true }
    return await asPatch(
      sandbox,
      posix.resolve(workdir, path ?? '.'),
      posix.join(keptDirectory, 'submit.patch'),
      signal,
    )
  },
})

async function asPatch(sandbox: RemoteSandbox, cwd: string, patchFile: string, signal: AbortSignal): Promise<Answer> {
  const command = ['/bin/sh', '-c', SCRIPT, 'submit', patchFile]
  const made = await sandbox.exec(command, { cwd, signal, timeoutMs: SUBMIT_MS })
  if (made.exitCode !== 0) {
    const why = made.timedOut ? 'it took too long' : made.stderr.trim()
    return {
      text: `${cwd}: no patch could be made: ${why}\n\`diff\` lists changed files of any directory.`,
      failed: true,
    }
  }
  const files = made.stdout.split('\n').filter((line) => line !== '')
  const whole = files.length === 0 ? '' : await sandbox.files.readText(patchFile)
  const { patch, truncated } = cut(whole)
  const more = truncated ? `\n(cut here; the whole patch is in the sandbox at ${patchFile})` : ''
  const text = files.length === 0 ? 'nothing has changed since the last commit' : patch + more
  return { text, structured: { patch, files, truncated, patchFile } }
}

interface Push {
  readonly message: string
  readonly pull_request: boolean | undefined
  readonly signal: AbortSignal
}

/** Done on the host, from the files as they are: whatever pushes is never in the sandbox. */
async function push(hearth: Hearth, sandbox: RemoteSandbox, asked: Push): Promise<Answer> {
  const { message, pull_request, signal } = asked
  const workspace = await workspaceOf(hearth, sandbox.id, signal)
  if (workspace === null) {
    const text = `${sandbox.id} has no workspace, so that nothing can be pushed from it. Without \`message\` there is the patch.`
    return { text, failed: true }
  }
  const { files, patch: whole } = await workspace.diff({ signal })
  if (files.length === 0) return { text: 'nothing has changed since the base of the workspace', failed: true }
  const { commit } = await workspace.commit({ message }, { signal })
  const { branch } = await workspace.push({}, { signal })
  const [title = '', ...rest] = message.trim().split('\n')
  const body = rest.join('\n').trim()
  const request = { title: title.slice(0, 1000), ...(body === '' ? {} : { body }) }
  const merge = pull_request === true ? await workspace.pullRequest(request, { signal }) : null
  return {
    text: [`${branch} is at ${commit}`, ...(merge === null ? [] : [merge.url])].join('\n'),
    structured: {
      ...cut(Buffer.from(whole).toString('utf8')),
      files: files.map((file) => file.path),
      branch,
      commit,
      ...(merge === null ? {} : { pullRequest: merge.url }),
    },
  }
}

async function workspaceOf(hearth: Hearth, sandbox: string, signal: AbortSignal): Promise<Workspace | null> {
  const found = (await hearth.workspaces.list({ signal })).find((workspace) => workspace.sandbox === sandbox)
  return found === undefined ? null : await hearth.workspaces.get(found.id, { signal })
}

function cut(whole: string): { readonly patch: string; readonly truncated: boolean } {
  return { patch: whole.slice(0, MOST_CHARACTERS), truncated: whole.length > MOST_CHARACTERS }
}

export const SUBMIT_TOOLS: readonly Tool[] = [submit]
