import { equals, noneOf, type Case, type Comparison, type Rule } from './policy-types.ts'

const CLONE_NEWTIME = 0x80
const CLONE_NEWNS = 0x0002_0000
const CLONE_NEWCGROUP = 0x0200_0000
const CLONE_NEWUTS = 0x0400_0000
const CLONE_NEWIPC = 0x0800_0000
const CLONE_NEWUSER = 0x1000_0000
const CLONE_NEWPID = 0x2000_0000
const CLONE_NEWNET = 0x4000_0000
const NAMESPACES =
  CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET

const TIOCSTI = 0x5412
const TIOCLINUX = 0x541c
/** Sharing blocks between files, as `cp --reflink` does: FICLONE, FICLONERANGE, FIDEDUPERANGE. They have the letter of btrfs for historical reasons. */
const SHARE_BLOCKS = [0x4004_9409, 0x4020_940d, 0xc018_9436] as const
/** The second byte of a request says whose it is. */
const OWNER_MASK = 0xff00
const BTRFS = 0x9400

const AF_UNIX = 1
const AF_INET = 2
const AF_INET6 = 10
const AF_NETLINK = 16
const NETLINK_ROUTE = 0

const SOCK_STREAM = 1
const SOCK_DGRAM = 2
/** The rest of the type argument is flags. */
const SOCK_TYPE_MASK = 0xf

const IPPROTO_DEFAULT = 0
const IPPROTO_ICMP = 1
const IPPROTO_TCP = 6
const IPPROTO_UDP = 17
const IPPROTO_ICMPV6 = 58

const PER_LINUX = 0
const PER_LINUX32 = 8
const UNAME26 = 0x2_0000
const ADDR_NO_RANDOMIZE = 0x4_0000
const PERSONALITY_QUERY = 0xffff_ffff

const allowWhen = (...when: Case['when']): Case => ({ when, action: 'allow' })

const ofType = (type: number): Comparison => ({ argument: 1, mask: SOCK_TYPE_MASK, value: type })

/** Allowed or refused by what the arguments say. */
export const CONDITIONAL: readonly Rule[] = [
  // Threads and children, but no new namespaces: inside one of its own a process has every capability, and with them
  // reaches kernel code that the sandbox keeps closed. clone3 hides its flags in memory; see the refused ones.
  { names: ['clone'], cases: [allowWhen(noneOf(0, NAMESPACES))], otherwise: 'EPERM' },
  // Threads may stop sharing their working directory or descriptors (CLONE_FS, CLONE_FILES), as file servers do.
  // A new network is for the guest, which gives one to a command with a narrower policy, and joins it to listen there: both need a
  // capability that nothing else inside has.
  {
    names: ['unshare'],
    cases: [allowWhen(noneOf(0, (NAMESPACES | CLONE_NEWTIME) & ~CLONE_NEWNET))],
    otherwise: 'EPERM',
  },
  { names: ['setns'], cases: [allowWhen(equals(1, CLONE_NEWNET))], otherwise: 'EPERM' },

  // Terminals and descriptors need it. TIOCSTI types into another process's terminal, TIOCLINUX pastes into a console.
  {
    names: ['ioctl'],
    cases: [
      { when: [equals(1, TIOCSTI)], action: 'EPERM' },
      { when: [equals(1, TIOCLINUX)], action: 'EPERM' },
      ...SHARE_BLOCKS.map((request) => allowWhen(equals(1, request))),
      // A subvolume that somebody makes in a volume of btrfs has no limit. Nothing here needs any request of that file system.
      { when: [{ argument: 1, mask: OWNER_MASK, value: BTRFS }], action: 'ENOTTY' },
    ],
    otherwise: 'allow',
  },

  // Loopback and unix sockets. Each other family, type or protocol would load a kernel module that nothing here needs;
  // protocol 0 is the default of the type, ICMP serves ping. Programs that try MPTCP or SCTP first fall back to TCP.
  {
    names: ['socket'],
    cases: [
      allowWhen(equals(0, AF_UNIX)),
      ...[AF_INET, AF_INET6].flatMap((family) => [
        allowWhen(equals(0, family), ofType(SOCK_STREAM), equals(2, IPPROTO_DEFAULT)),
        allowWhen(equals(0, family), ofType(SOCK_DGRAM), equals(2, IPPROTO_DEFAULT)),
        allowWhen(equals(0, family), equals(2, IPPROTO_TCP)),
        allowWhen(equals(0, family), equals(2, IPPROTO_UDP)),
      ]),
      allowWhen(equals(0, AF_INET), equals(2, IPPROTO_ICMP)),
      allowWhen(equals(0, AF_INET6), equals(2, IPPROTO_ICMPV6)),
      // Listing interfaces and addresses: getifaddrs, `ip`, Node's os.networkInterfaces. Without CAP_NET_ADMIN it only reads.
      allowWhen(equals(0, AF_NETLINK), equals(2, NETLINK_ROUTE)),
    ],
    otherwise: 'EAFNOSUPPORT',
  },
  { names: ['socketpair'], cases: [allowWhen(equals(0, AF_UNIX))], otherwise: 'EAFNOSUPPORT' },

  // Asking for the personality, the two harmless ones of `setarch`, and address randomization off, which debuggers want.
  {
    names: ['personality'],
    cases: [PER_LINUX, PER_LINUX32, UNAME26, UNAME26 | PER_LINUX32, ADDR_NO_RANDOMIZE, PERSONALITY_QUERY].map((value) =>
      allowWhen(equals(0, value)),
    ),
    otherwise: 'EPERM',
  },
]
