const KiB = 1024
const MiB = 1024 * KiB
const GiB = 1024 * MiB

/** What one client may cost the server. All sizes in bytes, all times in milliseconds. */
export interface HttpLimits {
  /** Request line and headers; more is 431. */
  readonly headerBytes: number
  /** A JSON body; more is 413. */
  readonly jsonBytes: number
  /** The JSON body of `exec` and `code`, which carries standard input or a program. */
  readonly commandBytes: number
  /** A raw body: a file, an archive, all files of one multipart body, standard input. */
  readonly uploadBytes: number
  /** Files in one multipart body. */
  readonly formFiles: number
  /** Output in one answer of `exec`, also when the sandbox would allow more. */
  readonly answerBytes: number
  /** One message on a WebSocket. */
  readonly messageBytes: number
  /** Until all headers have come. */
  readonly headersMs: number
  /** Until a JSON body has come whole. */
  readonly jsonBodyMs: number
  /** Between two pieces of a raw body. */
  readonly bodyIdleMs: number
  /** How long a client may take nothing of an answer that is ready for it. */
  readonly writeIdleMs: number
  /** Between two requests on one connection. */
  readonly keepAliveMs: number
  /** Silence on a stream after which something is sent to keep it open. */
  readonly pingMs: number
  /** A call that waits longer than this gets its status before its answer, or where a client of another vendor waits for a template, that answer. */
  readonly patienceMs: number
  /** A command that runs longer than this is named to a client that asked for it before the answer. */
  readonly processHeaderMs: number
  /** Until a program in a sandbox has accepted a connection, and until it has begun to answer a request. */
  readonly previewConnectMs: number
  readonly previewAnswerMs: number
  /** Of one key: sustained rate, size of a burst, and calls under way at once. */
  readonly requestsPerSecond: number
  readonly requestBurst: number
  readonly concurrentRequests: number
  /** Of one address: keys that turned out to be wrong. */
  readonly wrongKeysPerSecond: number
  readonly wrongKeyBurst: number
  /** Open at once on one listener; a further one is closed at once. */
  readonly connections: number
}

export const DEFAULT_HTTP_LIMITS: HttpLimits = {
  headerBytes: 32 * KiB,
  jsonBytes: 1 * MiB,
  commandBytes: 32 * MiB,
  uploadBytes: 16 * GiB,
  formFiles: 10_000,
  answerBytes: 64 * MiB,
  messageBytes: 1 * MiB,
  headersMs: 10_000,
  jsonBodyMs: 30_000,
  bodyIdleMs: 30_000,
  writeIdleMs: 300_000,
  keepAliveMs: 60_000,
  pingMs: 15_000,
  patienceMs: 20_000,
  processHeaderMs: 20,
  previewConnectMs: 10_000,
  previewAnswerMs: 120_000,
  requestsPerSecond: 5000,
  requestBurst: 10_000,
  concurrentRequests: 2000,
  wrongKeysPerSecond: 20,
  wrongKeyBurst: 200,
  connections: 10_000,
}
