const VERSION_5 = 5
const VERSION_4 = 4
/** Version, command, port and address; the rest is a name that ends with NUL. */
const REQUEST_4_BYTES = 8
/** CONNECT and BIND. */
const COMMANDS_4 = [1, 2]
/** Methods are numbered from 0; from 0x80 on they are private. What is in between was never given out. */
const LAST_METHOD = 9
const FIRST_PRIVATE_METHOD = 0x80

/** Whether a client greets a SOCKS proxy, which would lead it wherever it likes. Null when more bytes are needed to tell. */
export function isSocks(bytes: Buffer): boolean | null {
  const [version, second] = bytes
  if (version !== VERSION_5 && version !== VERSION_4) return false
  if (second === undefined) return null
  if (version === VERSION_4) {
    if (!COMMANDS_4.includes(second)) return false
    return bytes.length < REQUEST_4_BYTES ? null : true
  }
  const methods = bytes.subarray(2, 2 + second)
  if (second === 0 || methods.some((method) => method > LAST_METHOD && method < FIRST_PRIVATE_METHOD)) return false
  return methods.length < second ? null : true
}
