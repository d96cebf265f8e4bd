interface NativeBuffer {
  from(text: string, encoding: 'base64'): Uint8Array
  from(data: ArrayBufferLike, offset: number, length: number): { toString(encoding: 'base64'): string }
}

/** Node, Bun and Deno have it, and it is much faster; nothing here needs it. */
const native = (globalThis as { Buffer?: NativeBuffer }).Buffer
const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
const BINARY_STRING_BYTES = 0x8000

export function fromBase64(text: string): Uint8Array {
  if (native !== undefined) return native.from(text, 'base64')
  const binary = atob(text)
  const bytes = new Uint8Array(binary.length)
  for (let index = 0; index < binary.length; index++) bytes[index] = binary.charCodeAt(index)
  return bytes
}

export function toBase64(bytes: Uint8Array): string {
  if (native !== undefined) return native.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
  let binary = ''
  for (let start = 0; start < bytes.length; start += BINARY_STRING_BYTES) {
    binary += String.fromCharCode(...bytes.subarray(start, start + BINARY_STRING_BYTES))
  }
  return btoa(binary)
}

export function encodeText(text: string): Uint8Array {
  return encoder.encode(text)
}

export function decodeText(bytes: Uint8Array): string {
  return decoder.decode(bytes)
}

export function concatenate(parts: readonly Uint8Array[]): Uint8Array {
  if (parts.length === 1 && parts[0] !== undefined) return parts[0]
  const joined = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let offset = 0
  for (const part of parts) {
    joined.set(part, offset)
    offset += part.length
  }
  return joined
}
