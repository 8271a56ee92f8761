import type { HeaderExtension } from './rtp-packet.ts'

const ONE_BYTE_PROFILE = 0xbede
/** The low four bits are application bits. */
const TWO_BYTE_PROFILE = 0x1000
/** In the one-byte form, everything after this id is ignored. */
const STOP_ID = 15

/** The text of the extension element with this id (RFC 8285, section 4). Null if the packet does not have it. */
export function textElement(extension: HeaderExtension | null, id: number | null): string | null {
  if (extension === null || id === null) return null
  const { data, profile } = extension
  const isOneByte = profile === ONE_BYTE_PROFILE
  if (!isOneByte && (profile & 0xfff0) !== TWO_BYTE_PROFILE) return null
  let offset = 0
  while (offset < data.length) {
    const first = data[offset]!
    offset += 1
    // Padding.
    if (first === 0) continue
    const found = isOneByte ? first >> 4 : first
    if (isOneByte && found === STOP_ID) return null
    const length = isOneByte ? (first & 0x0f) + 1 : (data[offset++] ?? 0)
    if (offset + length > data.length) return null
    if (found === id) return data.toString('latin1', offset, offset + length)
    offset += length
  }
  return null
}
