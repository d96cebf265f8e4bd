import type { ExecResult, SandboxInfo } from '@hearth/contract'

/** The typed result of a command, for programs. */
export function resultJson(sandbox: SandboxInfo, result: ExecResult): object {
  const { id, rung, driver, template } = sandbox
  const { exitCode, signal, stdout, stderr, durationMs, cpuMs, timedOut, oom, truncated, totalOutputBytes } = result
  return {
    exitCode,
    signal,
    stdout,
    stderr,
    durationMs,
    cpuMs,
    timedOut,
    oom,
    truncated,
    totalOutputBytes,
    sandbox: { id, rung, driver, template },
  }
}
