import type { Stage } from './stage.ts'

/** An attempt that needs nothing but a shell, for rungs without processes too. It must print the secret to succeed. */
export interface ShellAttempt {
  readonly name: string
  readonly script: (stage: Stage) => string
  /** Otherwise the output is searched for the secret. */
  readonly happened?: (stage: Stage) => boolean
}

export const SHELL_ATTEMPTS: readonly ShellAttempt[] = [
  { name: 'cat a file of the host', script: (stage) => `cat ${stage.secretFile}` },
  { name: 'cat it by climbing', script: (stage) => `cd /tmp; cat ../../../../../../..${stage.secretFile}` },
  {
    name: 'list a directory of the host and read what is there',
    script: (stage) => `cd ${stage.directory} && cat $(ls)`,
  },
  {
    name: 'read it through a symlink',
    script: (stage) => `ln -s ${stage.secretFile} /tmp/way-out-$$; cat /tmp/way-out-$$; rm -f /tmp/way-out-$$`,
  },
  {
    name: 'read it through /proc',
    script: (stage) => `cat /proc/self/root${stage.secretFile} /proc/1/root${stage.secretFile}`,
  },
  { name: 'read the environment of a process of the host', script: (stage) => `cat /proc/${stage.victim}/environ` },
  {
    name: 'write a file of the host by the shell',
    script: (stage) => `mkdir -p ${stage.directory}; echo x > ${stage.directory}/written`,
    happened: (stage) => stage.written,
  },
  {
    name: 'signal a process of the host by the shell',
    script: (stage) => `kill -USR1 ${stage.victim}`,
    happened: (stage) => stage.signalled,
  },
  {
    name: 'change the tools of the host by the shell',
    script: (stage) => `echo evil > ${stage.toolFile}`,
    happened: (stage) => stage.toolChanged,
  },
  { name: 'the service on loopback by bash', script: (stage) => `bash -c 'cat < /dev/tcp/127.0.0.1/${stage.port}'` },
]
