/** The most comfortable shell that the root has. */
export const SHELL = ['/bin/sh', '-c', 'command -v bash >/dev/null 2>&1 && exec bash; exec sh']
