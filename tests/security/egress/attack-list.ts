/** A program hears of it by an error of its system. */
const FAILS = /^\w*(Error|gaierror|herror|timeout): /
/** A connection is closed without a word. */
const CLOSED = /^(closed|(ConnectionResetError|BrokenPipeError|SSL\w+): .*)$/
/** A request is answered by the gateway, or the connection that it came on is over. */
const REFUSED = /^(HTTP\/1\.1 4\d\d |closed$|ConnectionResetError)/
const NOT_FOUND = /^(code 3, 0 addresses|gaierror: .*|code 1, 0 addresses|UnicodeError.*)$/

/**
 * The attack list: ways past the gateway that were bugs, tests or threads of other sandboxes, and how each ends for the program that tries.
 * `inside/bypass.py` makes the attempts.
 */
export const BYPASSES: Readonly<Record<string, RegExp>> = {
  'unset proxy variables': /^curl 6: /,
  '--connect-to and --resolve to another address': /^curl (7|28): /,
  'IP literal': FAILS,
  'hard-coded IP with allowed SNI': FAILS,
  'SNI is not Host (fronting)': /^(HTTP\/1\.1 4\d\d |closed|ConnectionResetError)/,
  'no SNI': CLOSED,
  ECH: CLOSED,
  'duplicate Host': REFUSED,
  'absolute-form target to another host': REFUSED,
  'HTTP/2 :authority is not SNI': /"(name_mismatch|malformed)"|reset|goaway/,
  'NUL, trailing dot, mixed case, IDN, look-alike, wildcard apex': NOT_FOUND,
  'decimal, octal, mapped addresses, NAT64, 6to4': /Error|gaierror|code 3, 0 addresses/,
  'an allowed name leads to loopback, private, metadata, own interface': CLOSED,
  'rebinding between check and dial': /^(REACHED through the first answer|closed|ConnectionResetError.*)$/,
  'DNS to another resolver (53, 853), DoH, DoQ': FAILS,
  'UDP and QUIC': FAILS,
  ICMP: FAILS,
  'raw and packet sockets': /Error: |^only loopback$/,
  'AF_UNIX to daemons of the host': FAILS,
  'abstract sockets': FAILS,
  AF_VSOCK: FAILS,
  // Where the kernel is the sandbox's own it may have them; they find no route either.
  'io_uring sockets': /^(Operation not permitted|Function not implemented|a ring)$/,
  'inherited descriptors': /^no sockets$/,
  'HTTP CONNECT or SOCKS chained through an allowed proxy': REFUSED,
  'through the proxy of the sandbox itself': REFUSED,
  // The last answer is the redirect itself: what it leads to is not reached.
  redirects: /^HTTP\/1\.1 302 /,
  'request smuggling': REFUSED,
  pipelining: /^403 /,
  'oversized heads': REFUSED,
  'HTTP/2 stream floods': /reset|goaway|broken|closed|ended/,
  'DATA before HEADERS': /goaway|reset|closed|broken/,
  'path ambiguity against path rules': REFUSED,
  'WebSocket upgrade': /^(HTTP\/1\.1 4\d\d |not switched$)|reset|goaway|_not_allowed|malformed/,
  'DNS tunnelling': NOT_FOUND,
  'metadata addresses of every cloud': FAILS,
  'the policy API itself': /Error: |gaierror: |^closed$/,
}

const ANSWERED = /^HTTP\/(1\.1|2) (200|500)/
const MISPLACED = /^HTTP\/(1\.1|2) 403[^]*placeholder_misplaced/

/** The same for secrets; `inside/theft.py` makes these attempts, over HTTP/1.1 and HTTP/2. That no answer holds a value is tested of all of them together. */
export const THEFTS: Readonly<Record<string, RegExp>> = {
  'reflection through every field': ANSWERED,
  'gzip, br, zstd, split across writes, chunks and frames': ANSWERED,
  'stored content, then GET': ANSWERED,
  'reflection of every placement': ANSWERED,
  'a placeholder in any other place': MISPLACED,
  'a placeholder split across chunks and frames': /placeholder_misplaced|^HTTP\/1\.1 403 |reset/,
  'TRACE and TRACK': /^HTTP\/(1\.1|2) 4\d\d/,
  'placeholder to another host, over plain HTTP, of A at the host of B': /^HTTP\/(1\.1|2) 403|^curl \d+: /,
  'redirect to another host after injection': /^HTTP\/(1\.1|2) 302/,
  'use for a different purpose at the right host': MISPLACED,
  'the purpose that it is for': ANSWERED,
}
