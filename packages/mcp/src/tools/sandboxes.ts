import type { McpServer } from '@modelcontextprotocol/server'
import type { CreateSandbox } from '@hearth/contract'
import { z } from 'zod'
import type { Session } from '../session.ts'
import { add, CHANGES, DESTROYS, READS } from '../tool.ts'

const RUNGS = ['simulated', 'process', 'container', 'gvisor', 'microvm'] as const
const MOST_LISTED = 100

const described = {
  id: z.string(),
  state: z.string(),
  rung: z.string(),
  template: z.string(),
  expiresAt: z.string().nullable(),
}

/** Tools of a client that has several sandboxes. */
export function addSandboxesTools(server: McpServer, session: Session): void {
  addCreate(server, session)
  addList(server, session)
  add(
    server,
    {
      name: 'destroy_sandbox',
      title: 'Remove a sandbox',
      description: 'Ends a sandbox and removes all that is in it.',
      input: { sandbox: z.string().max(64) },
      annotations: { ...DESTROYS, idempotentHint: true },
    },
    async ({ sandbox }) => {
      await session.destroy(sandbox)
      return { text: `${sandbox} is gone` }
    },
  )
}

function addCreate(server: McpServer, session: Session): void {
  const input = {
    template: z
      .string()
      .max(512)
      .optional()
      .describe('`host`, `debian`, `code-interpreter`, or an image such as `python:3.12`.'),
    from: z.string().max(64).optional().describe('A snapshot, by id or name, instead of a template.'),
    at_least: z.enum(RUNGS).optional().describe('At least as isolated as this.'),
    minutes: z.int().min(1).max(1440).optional().describe('It ends after this time. Default 60.'),
    allow: z
      .array(z.string().max(262))
      .max(100)
      .optional()
      .describe('Names that can be reached from it, such as `pypi.org` or `*.example.com:443`. Default: none.'),
  }
  add(
    server,
    {
      name: 'create_sandbox',
      title: 'Make a sandbox',
      description: 'Makes a fresh, isolated computer. Its id is what the other tools take as `sandbox`.',
      input,
      output: described,
      annotations: CHANGES,
    },
    async ({ template, from, at_least, minutes = 60, allow }) => {
      const spec: CreateSandbox = {
        ttlMs: minutes * 60_000,
        ...(template === undefined ? {} : { template }),
        ...(from === undefined ? {} : { from }),
        ...(at_least === undefined ? {} : { atLeast: at_least }),
        ...(allow === undefined ? {} : { policy: { allow } }),
      }
      const { info } = await session.create(spec)
      const made = {
        id: info.id,
        state: info.state,
        rung: info.rung,
        template: info.template,
        expiresAt: info.expiresAt.toISOString(),
      }
      return { text: `${made.id} runs on ${made.rung} until ${made.expiresAt}`, structured: made }
    },
  )
}

function addList(server: McpServer, session: Session): void {
  add(
    server,
    {
      name: 'list_sandboxes',
      title: 'List sandboxes',
      description: 'Lists the sandboxes of this key, newest first.',
      input: {},
      output: { sandboxes: z.array(z.object(described)), more: z.boolean() },
      annotations: READS,
    },
    async (_, signal) => {
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
  )
}
