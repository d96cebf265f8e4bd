import { McpServer } from '@modelcontextprotocol/server'
import { takesBack, type OlderClient } from './older-calls.ts'
import type { Session } from './session.ts'
import { addTool } from './tool.ts'
import { FILE_TOOLS } from './tools/agent-tools.ts'
import { COMMAND_TOOLS } from './tools/commands.ts'
import { MACHINE_TOOLS } from './tools/machine.ts'
import { SUBMIT_TOOLS } from './tools/submit.ts'
import { SANDBOXES_TOOLS } from './tools/sandboxes.ts'

const INSTRUCTIONS = {
  one: 'These tools work in a sandbox: an isolated computer of its own, not the machine of the person you talk to. Run code and commands here.',
  many: 'These tools work in sandboxes: isolated computers, not the machine of the person you talk to. Make one with create_sandbox and name it in the other calls.',
} as const

const SANDBOX_TOOLS = [...COMMAND_TOOLS, ...FILE_TOOLS, ...MACHINE_TOOLS, ...SUBMIT_TOOLS]
const ALL_TOOLS = [...SANDBOX_TOOLS, ...SANDBOXES_TOOLS]

/** The tools of one session, for one connection or one request; of an older client over HTTP with the calls that it may take back. */
export function makeServer(session: Session, version: string, older: OlderClient | null = null): McpServer {
  const server = new McpServer(
    { name: 'hearth', title: 'Hearth', version },
    { capabilities: { tools: {} }, instructions: session.multi ? INSTRUCTIONS.many : INSTRUCTIONS.one },
  )
  for (const tool of session.multi ? ALL_TOOLS : SANDBOX_TOOLS) addTool(server, session, tool, older)
  if (older !== null) takesBack(server, older)
  return server
}
