import type { CreateSandbox } from '@hearth/contract'
import { z } from 'zod'
import { patiently } from '../patience.ts'
import { CHANGES, DESTROYS, READS, sessionTool, type Tool } from '../tool.ts'

const RUNGS = ['simulated', 'process', 'container', 'gvisor', 'microvm'] as const
const MOST_LISTED = 100

const LATER = '`list_sandboxes` shows it when it is there.'

const described = {
  id: z.string(),
  state: z.string(),
  rung: z.string(),
  template: z.string(),
  expiresAt: z.string().nullable(),
}

const create = sessionTool({
  name: 'create_sandbox',
  title: 'Make a sandbox',
  description: 'Makes a fresh, isolated computer. Its id is what the other tools take as `sandbox`.',
  input: {
    template: z
      .string()
      .max(512)
      .optional()
      .describe('`host`, `debian`, `code-interpreter`, or an image such as `python:3.12`.'),
    from: z.string().max(64).optional().describe('A snapshot, by id or name, instead of a template.'),
    at_least: z.enum(RUNGS).optional().describe('At least as isolated as this.'),
    minutes: z.int().min(1).max(1440).optional().describe('It ends after this time. Default: an hour.'),
    allow: z
      .array(z.string().max(262))
      .max(100)
      .optional()
      .describe('Names that can be reached from it, such as `pypi.org` or `*.example.com:443`. Default: none.'),
  },
  output: described,
  annotations: CHANGES,
  run: async ({ template, from, at_least, minutes, allow }, session, signal) => {
    const spec: CreateSandbox = {
      ...(template === undefined ? {} : { template }),
      ...(from === undefined ? {} : { from }),
      ...(at_least === undefined ? {} : { atLeast: at_least }),
      ...(minutes === undefined ? {} : { ttlMs: minutes * 60_000 }),
      ...(allow === undefined ? {} : { policy: { allow } }),
    }
    const { info } = await patiently((ending) => session.create(spec, ending), {
      signal,
      suggestion: LATER,
      patienceMs: session.patienceMs,
    })
    const made = {
      id: info.id,
      state: info.state,
      rung: info.rung,
      template: info.template,
      expiresAt: info.expiresAt.toISOString(),
    }
    return { text: `${made.id} runs on ${made.rung} until ${made.expiresAt}`, structured: made }
  },
})

const list = sessionTool({
  name: 'list_sandboxes',
  title: 'List sandboxes',
  description: 'Lists the sandboxes of this key, newest first.',
  input: {},
  output: { sandboxes: z.array(z.object(described)), more: z.boolean() },
  annotations: READS,
  run: async (_, session, signal) => {
    const { items, next } = await session.hearth.page({ limit: MOST_LISTED, signal })
    const sandboxes = items.map(({ id, state, rung, template, expiresAt }) => ({
      id,
      state,
      rung,
      template,
      expiresAt: expiresAt?.toISOString() ?? null,
    }))
    const lines = sandboxes.map(({ id, state, rung, template }) => `${id}\t${state}\t${rung}\t${template}`)
    return {
      text: lines.length === 0 ? 'there is none' : lines.join('\n'),
      structured: { sandboxes, more: next !== null },
    }
  },
})

const destroy = sessionTool({
  name: 'destroy_sandbox',
  title: 'Remove a sandbox',
  description: 'Ends a sandbox and removes all that is in it.',
  input: { sandbox: z.string().max(64) },
  output: { id: z.string() },
  annotations: { ...DESTROYS, idempotentHint: true },
  run: async ({ sandbox }, session) => {
    await session.destroy(sandbox)
    return { text: `${sandbox} is gone`, structured: { id: sandbox } }
  },
})

/** Tools of a client that has several sandboxes. */
export const SANDBOXES_TOOLS: readonly Tool[] = [create, list, destroy]
