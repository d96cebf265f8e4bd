import { Sandbox as CodeSandbox } from '@e2b/code-interpreter'
import { afterAll, beforeAll, describe, expect, test, type TestContext } from 'vitest'
import { E2bServer } from './support/e2b-server.ts'

/** Languages beside those that every host has. */
const RUNGS = (process.env['HEARTH_RUNGS']?.split(',') ?? ['process', 'gvisor']).filter((rung) => rung !== 'simulated')
const PNG = 'iVBORw0KGgo'

const server = await E2bServer.start()
afterAll(() => server[Symbol.asyncDispose]())

for (const rung of RUNGS) {
  if (await server.has(rung)) {
    describe(`languages on ${rung}`, { timeout: 60_000 }, () => {
      suite(rung)
    })
  } else {
    describe(rung, () => {
      test('is available', (context) => context.skip(`${rung} does not work here`))
    })
  }
}

function suite(rung: string): void {
  let sandbox: CodeSandbox
  beforeAll(async () => {
    const limits = { 'hearth.rung': rung }
    sandbox = await CodeSandbox.create('host', { metadata: limits, timeoutMs: 600_000, envs: { GIVEN: 'to all' } })
  })
  afterAll(async () => {
    await sandbox.kill()
  })

  /** Debian's packages are installed where the tests are set up; elsewhere there may be none. */
  const need = async (context: TestContext, command: string, what: string): Promise<void> => {
    const found = await sandbox.commands.run(`${command} > /dev/null 2>&1 && echo found || true`)
    if (found.stdout === '') context.skip(`this host has no ${what}`)
  }

  test('R', async (context) => {
    await need(context, 'command -v Rscript', 'r-base-core')
    const language = 'r' as const
    await sandbox.runCode('kept <- 40', { language })
    const said = await sandbox.runCode('cat("ä\\n"); message("no"); kept + 2', { language })
    expect([said.text, said.logs]).toEqual(['[1] 42', { stdout: ['ä\n'], stderr: ['no\n'] }])
    const variable = 'Sys.getenv("FOO", unset = "default")'
    expect((await sandbox.runCode(variable, { language, envs: { FOO: 'b"ar' } })).text).toBe('[1] "b\\"ar"')
    expect((await sandbox.runCode(variable, { language })).text).toBe('[1] "default"')
    expect((await sandbox.runCode('Sys.getenv("GIVEN"); getwd()', { language })).results[0]?.text).toContain('to all')
    const plot = await sandbox.runCode('plot(1:3)', { language })
    expect(plot.results[0]?.png?.startsWith(PNG)).toBe(true)
    expect((await sandbox.runCode('stop("bad")', { language })).error).toMatchObject({ name: 'Error', value: 'bad' })
    expect((await sandbox.runCode('1 +', { language })).error?.value).toContain('unexpected end')
    await expect(sandbox.runCode('Sys.sleep(60)', { language, timeoutMs: 1000 })).rejects.toThrow(/time/i)
    // The cell alone was ended.
    expect((await sandbox.runCode('kept', { language })).text).toBe('[1] 40')
    const { stdout } = (await sandbox.runCode('system("cat; echo whole")', { language })).logs
    expect(stdout).toEqual(['whole\n'])
  })

  test('Java', async (context) => {
    await need(context, 'command -v jshell', 'JDK')
    const language = 'java' as const
    await sandbox.runCode('int kept = 40;\nint twice(int n) { return n * 2; }', { language })
    const said = await sandbox.runCode('System.out.println("ä");\nSystem.err.println("no");\ntwice(kept) + 2', {
      language,
    })
    expect([said.text, said.logs]).toEqual(['82', { stdout: ['ä\n'], stderr: ['no\n'] }])
    const variable = 'System.getProperty("FOO", "default")'
    expect((await sandbox.runCode(variable, { language, envs: { FOO: 'b"ar' } })).text).toBe('b\\"ar')
    expect((await sandbox.runCode(variable, { language })).text).toBe('default')
    expect((await sandbox.runCode('System.getProperty("GIVEN")', { language })).text).toBe('to all')
    expect((await sandbox.runCode('int wrong = "s";', { language })).error).toMatchObject({
      name: 'CompilationError',
      value: expect.stringContaining('incompatible types') as string,
    })
    const thrown = await sandbox.runCode('throw new IllegalStateException("bad");', { language })
    expect(thrown.error).toMatchObject({ name: 'java.lang.IllegalStateException', value: 'bad' })
    expect((await sandbox.runCode('kept', { language })).text).toBe('40')
    const context2 = await sandbox.createCodeContext({ language, cwd: '/tmp' })
    expect((await sandbox.runCode('System.getProperty("user.dir")', { context: context2 })).text).toBe('/tmp')
    expect((await sandbox.runCode('kept', { context: context2 })).error?.name).toBe('CompilationError')
    await sandbox.removeCodeContext(context2)
  })

  test('a language that there is not is named', async () => {
    await expect(sandbox.runCode('1', { language: 'cobol' as 'python' })).rejects.toThrow(/501.*cobol/)
    await expect(sandbox.createCodeContext({ language: 'cobol' as 'python' })).rejects.toThrow(/501.*cobol/)
    // Those that Hearth runs, in a sandbox that has none of them.
    const bare = await CodeSandbox.create('host', { metadata: { 'hearth.rung': rung }, envs: { PATH: '/bare' } })
    await bare.commands.run('mkdir /bare && ln -s /usr/bin/sh /bare/sh', { user: 'root' })
    for (const [language, program] of Object.entries({ r: 'Rscript', java: 'java', python: 'python3', js: 'node' })) {
      const { error } = await bare.runCode('1', { language })
      expect(error).toMatchObject({ name: 'InterpreterNotFound', value: expect.stringContaining(program) as string })
    }
    await bare.kill()
  })
}
