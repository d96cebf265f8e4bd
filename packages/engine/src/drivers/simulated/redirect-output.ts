import type { CommandNode, PipelineNode, ScriptNode, StatementNode, TransformContext, TransformPlugin } from 'just-bash'

type Redirection = Extract<CommandNode, { type: 'SimpleCommand' }>['redirections'][number]
type CompoundNode = Exclude<CommandNode, { type: 'SimpleCommand' } | { type: 'FunctionDef' }>

/**
 * Sends the output of each command of a script to two files as soon as the command has ended.
 *
 * The shell itself gives all output at its end, and none when it is aborted; a run must keep what it has written.
 * Each redirection comes first, so those of the script (`2>&1`, `> file`) act on it as they would on the real streams.
 * What a pipe or a substitution takes is left alone. Whatever stays in the shell's own result is added at the end.
 */
export class RedirectOutput implements TransformPlugin {
  readonly name = 'redirect-output'
  readonly #output: string
  readonly #error: string
  #done = false

  constructor(output: string, error: string) {
    this.#output = output
    this.#error = error
  }

  transform({ ast }: TransformContext): { ast: ScriptNode } {
    // Scripts within the script (`sh -c`, `xargs`) come here too. Their output belongs to the command that runs them.
    if (this.#done) return { ast }
    this.#done = true
    return { ast: { ...ast, statements: this.#statements(ast.statements) } }
  }

  #statements(statements: readonly StatementNode[]): StatementNode[] {
    return statements.map((statement) => ({
      ...statement,
      pipelines: statement.pipelines.map((pipeline) => this.#pipeline(pipeline)),
    }))
  }

  #pipeline(pipeline: PipelineNode): PipelineNode {
    const last = pipeline.commands.length - 1
    const commands = pipeline.commands.map((command, index) => {
      if (index === last) return last === 0 ? this.#command(command) : this.#redirected(command, [1, 2])
      return pipeline.pipeStderr?.[index] === true ? command : this.#redirected(command, [2])
    })
    return { ...pipeline, commands }
  }

  /** A command with redirections of its own is treated as one; in another, each command within is. */
  #command(command: CommandNode): CommandNode {
    if (command.type === 'SimpleCommand' || command.type === 'FunctionDef' || command.redirections.length > 0) {
      return this.#redirected(command, [1, 2])
    }
    return this.#within(command)
  }

  #within(command: CompoundNode): CommandNode {
    switch (command.type) {
      case 'If':
        return {
          ...command,
          clauses: command.clauses.map(({ condition, body }) => ({
            condition: this.#statements(condition),
            body: this.#statements(body),
          })),
          elseBody: command.elseBody === null ? null : this.#statements(command.elseBody),
        }
      case 'While':
      case 'Until':
        return { ...command, condition: this.#statements(command.condition), body: this.#statements(command.body) }
      case 'For':
      case 'CStyleFor':
      case 'Group':
      case 'Subshell':
        return { ...command, body: this.#statements(command.body) }
      case 'Case':
        return { ...command, items: command.items.map((item) => ({ ...item, body: this.#statements(item.body) })) }
      case 'ArithmeticCommand':
      case 'ConditionalCommand':
        return this.#redirected(command, [1, 2])
    }
  }

  #redirected(command: CommandNode, streams: readonly (1 | 2)[]): CommandNode {
    // A bare assignment writes nothing; `exec` would keep the redirection for the rest of the script.
    if (command.type === 'FunctionDef' || (command.type === 'SimpleCommand' && !writes(command))) return command
    const added = streams.map((stream): Redirection => {
      const value = stream === 1 ? this.#output : this.#error
      const target = { type: 'Word' as const, parts: [{ type: 'SingleQuoted' as const, value }] }
      return { type: 'Redirection', fd: stream, operator: '>>', target }
    })
    return { ...command, redirections: [...added, ...command.redirections] }
  }
}

function writes(command: Extract<CommandNode, { type: 'SimpleCommand' }>): boolean {
  const first = command.name?.parts[0]
  if (command.name === null) return command.assignments.some(({ value, array }) => value !== null || array !== null)
  return !(command.name.parts.length === 1 && first?.type === 'Literal' && first.value === 'exec')
}
