/** The user that commands run as in our own templates. */
export const TEMPLATE_USER = { name: 'user', id: 1000, home: '/home/user' } as const

/** Search path in our own templates. The host's own `PATH` is never looked at: it may lead below /root or /home. */
export const TEMPLATE_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** What our own templates ask for. */
export const TEMPLATE_DEFAULTS = {
  environment: { PATH: TEMPLATE_PATH, LANG: 'C.UTF-8' },
  workdir: TEMPLATE_USER.home,
  user: TEMPLATE_USER.name,
} as const

const lines = (...content: string[]): string => content.map((line) => `${line}\n`).join('')

/** Identity files that say nothing about the host: its users, names and resolvers stay outside. */
export const BASE_FILES: readonly { readonly path: string; readonly content: string }[] = [
  {
    path: '/etc/passwd',
    content: lines(
      'root:x:0:0:root:/root:/bin/bash',
      'nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin',
      `${TEMPLATE_USER.name}:x:${TEMPLATE_USER.id}:${TEMPLATE_USER.id}:user:${TEMPLATE_USER.home}:/bin/bash`,
    ),
  },
  {
    path: '/etc/group',
    content: lines(
      'root:x:0:',
      'tty:x:5:',
      'shadow:x:42:',
      'users:x:100:',
      'nogroup:x:65534:',
      `${TEMPLATE_USER.name}:x:${TEMPLATE_USER.id}:`,
    ),
  },
  { path: '/etc/hosts', content: lines('127.0.0.1 localhost', '::1 localhost ip6-localhost ip6-loopback') },
  { path: '/etc/hostname', content: lines('sandbox') },
  {
    path: '/etc/nsswitch.conf',
    content: lines('passwd: files', 'group: files', 'hosts: files dns', 'services: files', 'protocols: files'),
  },
  { path: '/etc/resolv.conf', content: '' },
]
