import { mediaFacts } from './media-facts.ts'

export interface ImageSize {
  readonly width: number
  readonly height: number
}

/** Markers of JPEG that a frame begins with: SOF0 to SOF15, without DHT, JPG and DAC (ITU-T T.81, B.1.1.3). */
const FRAME = (marker: number) => marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)

/** The media type of a PNG, GIF or JPEG, by its first bytes. Undefined for other files. */
export function imageType(bytes: Buffer): string | undefined {
  const head = bytes.toString('latin1', 0, 8)
  if (head === '\x89PNG\r\n\x1a\n') return 'image/png'
  if (/^GIF8[79]a/.test(head)) return 'image/gif'
  return head.startsWith('\xff\xd8\xff') ? 'image/jpeg' : undefined
}

/**
 * Width and height of a picture: those that a generated file states, or those in the header of a PNG, GIF or JPEG.
 * Undefined for other files.
 */
export function imageSize(bytes: Buffer): ImageSize | undefined {
  const { height, width } = mediaFacts(bytes)
  if (width !== undefined && height !== undefined) return { width, height }
  const type = imageType(bytes)
  if (type === 'image/png' && bytes.length >= 24) {
    return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
  }
  if (type === 'image/gif' && bytes.length >= 10) {
    return { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }
  }
  return type === 'image/jpeg' ? sizeOfJpeg(bytes) : undefined
}

function sizeOfJpeg(bytes: Buffer): ImageSize | undefined {
  for (let at = 2; at + 9 <= bytes.length && bytes[at] === 0xff;) {
    const marker = bytes[at + 1] ?? 0
    if (FRAME(marker)) return { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) }
    // A byte 0xff before a marker only fills.
    at += marker === 0xff ? 1 : 2 + bytes.readUInt16BE(at + 2)
  }
  return undefined
}
