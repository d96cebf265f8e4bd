import type { CodeLanguage, Sandbox } from '@hearth/contract'

/** How an interpreter is told to end: what it held is gone, and the next cell starts another. */
const END: Readonly<Record<CodeLanguage, string>> = {
  python: 'import os\nos._exit(0)',
  javascript: 'process.exit(0)',
  bash: 'exit 0',
  r: 'quit("no")',
  java: 'System.exit(0);',
}

export async function endInterpreter(sandbox: Sandbox, language: CodeLanguage, context: string): Promise<void> {
  await sandbox.runCode(END[language], { language, context })
}
