import type { ExecOptions, Process, Sandbox, SpawnOptions } from '@hearth/contract'
import { collectOutput, commandTimeMs, feed } from '@hearth/engine'
import type { SandboxRecorder } from './sandbox-recorder.ts'

/** A sandbox whose commands and code are recorded, whoever runs them and how. All else is as it was. */
export function recordedSandbox(sandbox: Sandbox, recorder: SandboxRecorder): Sandbox {
  const spawn: Sandbox['spawn'] = async (command, options = {}) => {
    const process = await sandbox.spawn(command, options)
    const { cwd = null, user = null, step = null } = options
    recorder.add({ kind: 'command', process: process.id, command, cwd, user, step })
    return recordedProcess(process, recorder)
  }
  return overriding(sandbox, {
    spawn,
    exec: async (command, options = {}) => {
      const { input, maxOutputBytes, ...rest }: ExecOptions = options
      const { limits } = sandbox.info
      const timeoutMs = commandTimeMs(limits, rest.timeoutMs)
      const started: SpawnOptions = { ...rest, timeoutMs, stdin: input === undefined ? 'none' : 'pipe' }
      const process = await spawn(command, started)
      if (input !== undefined) void feed(process, input)
      return await collectOutput(process, maxOutputBytes ?? limits.outputBytes)
    },
    attach: async (process, options) => recordedProcess(await sandbox.attach(process, options), recorder),
    runCode: async (code, options = {}) => {
      const { language = 'python', step = null } = options
      using _running = recorder.running(step)
      const result = await sandbox.runCode(code, options)
      const { durationMs, timedOut, oom, error } = result
      recorder.add({
        kind: 'code',
        process: null,
        language,
        code,
        step,
        durationMs: Math.round(durationMs),
        error: error?.name ?? null,
        timedOut,
        oom,
      })
      return result
    },
  })
}

function recordedProcess(process: Process, recorder: SandboxRecorder): Process {
  return overriding(process, {
    wait: () => {
      const exit = process.wait()
      exit.then(
        (end) => recorder.exited(process.id, end),
        // Its end is heard of elsewhere, or found out later.
        () => undefined,
      )
      return exit
    },
  })
}

/** The same object with some of its methods replaced. Everything else reaches the object itself, with its private fields. */
function overriding<Target extends object>(target: Target, methods: Partial<Target>): Target {
  return new Proxy(target, {
    get(_, name) {
      if (Object.hasOwn(methods, name)) return Reflect.get(methods, name)
      const value: unknown = Reflect.get(target, name, target)
      // Not a bound function: `await using` takes that for none at all.
      return typeof value === 'function' ? (...args: unknown[]): unknown => Reflect.apply(value, target, args) : value
    },
  })
}
