import { z } from 'zod'
import { CHANGES, inTime, READS, sandboxTool, type Tool } from '../tool.ts'

const MOST_CHANGES = 1000
const MOST_CHILDREN = 16

const portUrl = sandboxTool({
  name: 'port_url',
  title: 'Link to a port',
  description:
    'Gives a link under which a browser reaches a port of the sandbox. Whoever has the link gets in, until it expires.',
  input: {
    port: z.int().min(1).max(65_535),
    minutes: z.int().min(1).max(1440).optional().describe('How long the link is good. Default 60.'),
  },
  output: { url: z.string(), expiresAt: z.string() },
  annotations: CHANGES,
  run: async ({ port, minutes = 60 }, { workplace: { sandbox }, signal }) => {
    const { url, expiresAt } = await sandbox.port(port).link({ ttlMs: minutes * 60_000, signal })
    return { text: url, structured: { url, expiresAt: expiresAt.toISOString() } }
  },
})

const snapshot = sandboxTool({
  name: 'snapshot',
  title: 'Take a snapshot',
  description:
    'Captures the sandbox as it is now, with its running processes where it can. It goes on; new ones can be made of the snapshot.',
  input: { name: z.string().max(63).optional().describe('Lower-case letters, digits, dots, dashes and underscores.') },
  output: { snapshot: z.string(), memory: z.boolean() },
  annotations: CHANGES,
  run: async ({ name }, context) => {
    const { sandbox } = context.workplace
    const call = { name: ['snapshot', name], what: 'the snapshot is still being taken' }
    const { id, memory } = await inTime(
      context,
      call,
      async (signal) => await sandbox.snapshot({ ...(name === undefined ? {} : { name }), signal }),
    )
    const what = memory ? 'files and running processes' : 'files'
    return { text: `${id} holds the ${what} of ${sandbox.id}`, structured: { snapshot: id, memory } }
  },
})

const fork = sandboxTool({
  name: 'fork',
  title: 'Fork the sandbox',
  description:
    'Makes copies of the sandbox as it is now, to try several things side by side. Name a copy as `sandbox` in other calls; the original goes on.',
  input: { count: z.int().min(1).max(MOST_CHILDREN).optional().describe('Default 1.') },
  output: { sandboxes: z.array(z.string()), memory: z.boolean() },
  annotations: CHANGES,
  run: async ({ count = 1 }, context) => {
    const { session, workplace } = context
    const call = { name: ['fork', count], what: 'the copies are still being made' }
    const { children, memory, reason } = await inTime(context, call, async (signal) => {
      const forked = await workplace.sandbox.fork(count, { signal })
      // Its own also when nobody comes back for them.
      for (const child of forked.children) session.adopt(child)
      return forked
    })
    const ids = children.map(({ id }) => id)
    const processes = memory ? 'Its processes go on in them.' : `Its processes do not run in them: ${reason}.`
    return { text: `${ids.join('\n')}\n${processes}`, structured: { sandboxes: ids, memory } }
  },
})

const diff = sandboxTool({
  name: 'diff',
  title: 'Changed files',
  description:
    'Lists the files that were added, changed or removed since the sandbox was made, or since it was forked.',
  input: {
    since: z.enum(['origin', 'template']).optional().describe('`origin`: the fork or snapshot it came from (default).'),
    paths: z.array(z.string().max(4096)).max(100).optional().describe('Only below these.'),
  },
  output: {
    changes: z.array(z.object({ path: z.string(), change: z.string(), type: z.string(), sizeBytes: z.number() })),
    truncated: z.boolean(),
  },
  annotations: READS,
  run: async ({ since, paths }, context) => {
    const { sandbox } = context.workplace
    const asked = { ...(since === undefined ? {} : { since }), ...(paths === undefined ? {} : { paths }) }
    const call = { name: ['diff', asked], what: 'the files are still being compared' }
    const all = await inTime(context, call, async (signal) => await sandbox.diff({ ...asked, signal }))
    const changes = all
      .slice(0, MOST_CHANGES)
      .map(({ path, change, type, sizeBytes }) => ({ path, change, type, sizeBytes }))
    const lines = changes.map(({ path, change }) => `${change}\t${path}`)
    const truncated = all.length > changes.length
    const more = truncated ? `\n(only ${changes.length} of ${all.length} are shown; ask below a path)` : ''
    return {
      text: lines.length === 0 ? 'nothing has changed' : lines.join('\n') + more,
      structured: { changes, truncated },
    }
  },
})

export const MACHINE_TOOLS: readonly Tool[] = [portUrl, snapshot, fork, diff]
