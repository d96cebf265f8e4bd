import { describeConcurrency } from './driver/concurrency.ts'
import { describeCpuLimit } from './driver/cpu-limit.ts'
import { describeEnvironment } from './driver/environment.ts'
import { describeExec } from './driver/exec.ts'
import { describeExit } from './driver/exit.ts'
import { describeFileErrors } from './driver/file-errors.ts'
import { describeFiles } from './driver/files.ts'
import { describeFlood } from './driver/flood.ts'
import { describeLargeFiles } from './driver/large-files.ts'
import { describeLifetime } from './driver/lifetime.ts'
import { describeLimits } from './driver/limits.ts'
import { describeOutput } from './driver/output.ts'
import { describePorts } from './driver/ports.ts'
import { describeProcesses } from './driver/processes.ts'
import { describePty } from './driver/pty.ts'
import { describeReconnect } from './driver/reconnect.ts'
import { describeRunCode } from './driver/run-code.ts'
import { describeStats } from './driver/stats.ts'
import { describeStdin } from './driver/stdin.ts'
import { describeTar } from './driver/tar.ts'
import { describeTimeouts } from './driver/timeouts.ts'
import { describeUsers } from './driver/users.ts'
import { describeWatch } from './driver/watch.ts'
import { describeSuite, type DriverSuiteOptions } from './support/suite.ts'

/** What every driver must do. A test is left out only for a capability that is declared absent, or by a skip with a reason. */
export function describeDriver(options: DriverSuiteOptions): void {
  describeSuite(options, {
    exec: describeExec,
    output: describeOutput,
    stdin: describeStdin,
    environment: describeEnvironment,
    users: describeUsers,
    exit: describeExit,
    timeouts: describeTimeouts,
    processes: describeProcesses,
    files: describeFiles,
    'file errors': describeFileErrors,
    'large files': describeLargeFiles,
    tar: describeTar,
    watch: describeWatch,
    terminals: describePty,
    ports: describePorts,
    concurrency: describeConcurrency,
    limits: describeLimits,
    'processor limit': describeCpuLimit,
    flood: describeFlood,
    code: describeRunCode,
    statistics: describeStats,
    lifetime: describeLifetime,
    reconnect: describeReconnect,
  })
}
