import { HearthError, type DiffSince, type Workspace } from '@hearth/sdk'
import { interruptible } from '../interruptible.ts'
import { withoutUndefined } from '../options/sandbox-options.ts'
import { presentOne } from '../output/present.ts'
import { Progress } from '../output/progress.ts'
import { printable } from '../output/printable.ts'
import { fileLines, skippedLines, statusLines } from '../output/workspace-view.ts'
import { write, writeJson } from '../output/write.ts'
import { findWorkspace } from '../server/find-workspace.ts'
import { withServer, type ServerOptions } from '../server/with-server.ts'

/** Finds the workspace, does something with it that may take a while, and shows what came of it. */
async function inWorkspace<Result>(
  name: string,
  options: ServerOptions,
  { doing, work, show }: WorkspaceWork<Result>,
): Promise<number> {
  return await interruptible(async (signal) => {
    const result = await withServer(options, async (hearth) => {
      using progress = new Progress(options.quiet === true || !process.stderr.isTTY)
      progress.say(doing)
      return await work(await findWorkspace(hearth, name, { signal }), signal)
    })
    await show(result)
    return 0
  })
}

interface WorkspaceWork<Result> {
  /** What people are told meanwhile. */
  readonly doing: string
  readonly work: (workspace: Workspace, signal: AbortSignal) => Promise<Result>
  readonly show: (result: Result) => Promise<void>
}

async function writePaths(files: readonly { readonly path: string }[]): Promise<void> {
  await write(process.stdout, files.map(({ path }) => `${printable(path)}\n`).join(''))
}

export async function workspaceStatus(name: string, options: ServerOptions): Promise<number> {
  return await inWorkspace(name, options, {
    doing: 'looking at the files',
    work: (workspace, signal) => workspace.status({ signal }),
    show: async (status) => {
      if (options.json === true) await writeJson(status)
      else if (options.quiet === true) await writePaths(status.files)
      else await write(process.stdout, statusLines(status))
    },
  })
}

export interface DiffOptions extends ServerOptions {
  readonly since?: DiffSince
  readonly stat?: boolean
}

/** A patch for `git apply`, byte for byte. */
export async function workspaceDiff(name: string, options: DiffOptions): Promise<number> {
  return await inWorkspace(name, options, {
    doing: 'comparing',
    work: (workspace, signal) => workspace.diff({ ...withoutUndefined({ since: options.since }), signal }),
    show: async ({ patch, ...rest }) => {
      if (options.json === true) return await writeJson({ ...rest, patch: Buffer.from(patch).toString('base64') })
      if (options.quiet === true) return await writePaths(rest.files)
      await write(process.stdout, options.stat === true ? fileLines(rest.files) : patch)
      process.stderr.write(skippedLines(rest.skipped))
    },
  })
}

export interface CommitOptions extends ServerOptions {
  readonly message: string
  readonly author?: string
}

export async function commitWorkspace(name: string, options: CommitOptions): Promise<number> {
  const author = options.author === undefined ? undefined : authorOf(options.author)
  const asked = { message: options.message, ...withoutUndefined({ author }) }
  return await inWorkspace(name, options, {
    doing: 'committing',
    work: (workspace, signal) => workspace.commit(asked, { signal }),
    show: async (made) => {
      const people = (): string => `${made.commit}${made.created ? '' : ' (nothing has changed since)'}\n`
      await presentOne(options, { id: made.commit, json: made, people })
    },
  })
}

function authorOf(text: string): { name: string; email: string } {
  const [, name, email] = /^(.+?) *<([^<>]+)>$/.exec(text) ?? []
  if (name !== undefined && email !== undefined) return { name, email }
  throw new HearthError('invalid_request', '--author must be like "Ada Lovelace <ada@example.com>"')
}

export interface PushOptions extends ServerOptions {
  readonly branch?: string
  readonly force?: boolean
}

export async function pushWorkspace(name: string, options: PushOptions): Promise<number> {
  const asked = withoutUndefined({ branch: options.branch, force: options.force })
  return await inWorkspace(name, options, {
    doing: 'pushing',
    work: (workspace, signal) => workspace.push(asked, { signal }),
    show: async (pushed) => {
      const people = (): string => `${printable(pushed.branch)} is at ${pushed.commit}\n`
      await presentOne(options, { id: pushed.commit, json: pushed, people })
    },
  })
}

export interface PullRequestOptions extends ServerOptions {
  readonly title: string
  readonly body?: string
  readonly base?: string
  readonly draft?: boolean
}

export async function openPullRequest(name: string, options: PullRequestOptions): Promise<number> {
  const { title, body, base, draft } = options
  const asked = { title, ...withoutUndefined({ body, base, draft }) }
  return await inWorkspace(name, options, {
    doing: 'opening a pull request',
    work: (workspace, signal) => workspace.pullRequest(asked, { signal }),
    show: async (made) => {
      const people = (): string => `${printable(made.url)}${made.created ? '' : ' (it was open already)'}\n`
      await presentOne(options, { id: made.url, json: made, people })
    },
  })
}
