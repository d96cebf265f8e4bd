/**
 * The messages of envd's two services. A field is `NUMBER [optional|repeated] KIND`; KIND is a scalar, `map` (string to string), an
 * enumeration or a message of this table. Names are those of proto3 JSON.
 */
export const MESSAGES = {
  Empty: {},
  EntryInfo: {
    name: '1 string',
    type: '2 FileType',
    path: '3 string',
    size: '4 int64',
    mode: '5 uint32',
    permissions: '6 string',
    owner: '7 string',
    group: '8 string',
    modifiedTime: '9 Timestamp',
    symlinkTarget: '10 optional string',
    metadata: '11 map',
  },
  Path: { path: '1 string' },
  Entry: { entry: '1 EntryInfo' },
  MoveRequest: { source: '1 string', destination: '2 string' },
  ListDirRequest: { path: '1 string', depth: '2 uint32' },
  ListDirResponse: { entries: '1 repeated EntryInfo' },
  WatchRequest: {
    path: '1 string',
    recursive: '2 bool',
    includeEntry: '3 bool',
    allowNetworkMounts: '4 bool',
  },
  FilesystemEvent: { name: '1 string', type: '2 EventType', entry: '3 EntryInfo' },
  WatchDirResponse: { start: '1 Empty', filesystem: '2 FilesystemEvent', keepalive: '3 Empty' },
  Watcher: { watcherId: '1 string' },
  WatcherEvents: { events: '1 repeated FilesystemEvent' },
  PtySize: { cols: '1 uint32', rows: '2 uint32' },
  Pty: { size: '1 PtySize' },
  ProcessConfig: { cmd: '1 string', args: '2 repeated string', envs: '3 map', cwd: '4 optional string' },
  ProcessInfo: { config: '1 ProcessConfig', pid: '2 uint32', tag: '3 optional string' },
  ListResponse: { processes: '1 repeated ProcessInfo' },
  StartRequest: { process: '1 ProcessConfig', pty: '2 Pty', tag: '3 optional string', stdin: '4 optional bool' },
  Selector: { pid: '1 optional uint32', tag: '2 optional string' },
  Selected: { process: '1 Selector' },
  UpdateRequest: { process: '1 Selector', pty: '2 Pty' },
  StartEvent: { pid: '1 uint32' },
  DataEvent: { stdout: '1 optional bytes', stderr: '2 optional bytes', pty: '3 optional bytes' },
  EndEvent: { exitCode: '1 sint32', exited: '2 bool', status: '3 string', error: '4 optional string' },
  ProcessEvent: { start: '1 StartEvent', data: '2 DataEvent', end: '3 EndEvent', keepalive: '4 Empty' },
  ProcessEvents: { event: '1 ProcessEvent' },
  ProcessInput: { stdin: '1 optional bytes', pty: '2 optional bytes' },
  SendInputRequest: { process: '1 Selector', input: '2 ProcessInput' },
  StreamInputData: { input: '2 ProcessInput' },
  StreamInputRequest: { start: '1 Selected', data: '2 StreamInputData', keepalive: '3 Empty' },
  SendSignalRequest: { process: '1 Selector', signal: '2 Signal' },
} as const

export const ENUMERATIONS = {
  FileType: { FILE_TYPE_UNSPECIFIED: 0, FILE_TYPE_FILE: 1, FILE_TYPE_DIRECTORY: 2, FILE_TYPE_SYMLINK: 3 },
  EventType: {
    EVENT_TYPE_UNSPECIFIED: 0,
    EVENT_TYPE_CREATE: 1,
    EVENT_TYPE_WRITE: 2,
    EVENT_TYPE_REMOVE: 3,
    EVENT_TYPE_RENAME: 4,
    EVENT_TYPE_CHMOD: 5,
  },
  Signal: { SIGNAL_UNSPECIFIED: 0, SIGNAL_SIGTERM: 15, SIGNAL_SIGKILL: 9 },
} as const

interface Scalars {
  string: string
  bool: boolean
  uint32: number
  sint32: number
  int64: number
  bytes: Uint8Array
  map: Readonly<Record<string, string>>
  Timestamp: Date
}

export type MessageName = keyof typeof MESSAGES
export type EnumerationName = keyof typeof ENUMERATIONS

type Value<Kind> = Kind extends keyof Scalars
  ? Scalars[Kind]
  : Kind extends EnumerationName
    ? keyof (typeof ENUMERATIONS)[Kind]
    : Kind extends MessageName
      ? Message<Kind>
      : never

type Single<Kind> = Kind extends MessageName | 'Timestamp' ? Value<Kind> | undefined : Value<Kind>

type FieldValue<Field> = Field extends `${number} optional ${infer Kind}`
  ? Value<Kind> | undefined
  : Field extends `${number} repeated ${infer Kind}`
    ? readonly Value<Kind>[]
    : Field extends `${number} ${infer Kind}`
      ? Single<Kind>
      : never

/** A message as it is decoded: every field is there, with its default where it was not sent. */
export type Message<Name extends MessageName> = {
  readonly [Field in keyof (typeof MESSAGES)[Name]]: FieldValue<(typeof MESSAGES)[Name][Field]>
}

/** A message to be encoded: what is left out has its default. */
export type Draft<Name extends MessageName> = {
  readonly [Field in keyof Message<Name>]?: DraftValue<Message<Name>[Field]>
}

type DraftValue<T> = T extends Uint8Array | Date | string | number | boolean | undefined
  ? T
  : T extends readonly (infer Item)[]
    ? readonly DraftValue<Item>[]
    : { readonly [Key in keyof T]?: DraftValue<T[Key]> }
