/** Tools without the loop: for whoever lets another program's model use them. */
export { bashKill, bashOutput, shellCommand, TOOL_ENVIRONMENT } from './bash.ts'
export { follow, report, type Followed } from './command-output.ts'
export { edit } from './edit.ts'
export { glob, grep } from './find-text.ts'
export { read } from './read.ts'
export type { Tool, ToolContext, ToolResult } from './tool.ts'
export { write } from './write.ts'
