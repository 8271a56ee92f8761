import { jpegSegments } from './jpeg.ts'

export interface ImageSize {
  readonly width: number
  readonly height: number
}

/**
 * Reads width and height from the header of an image. Nothing is decoded, so a gigapixel image costs no more than any
 * other.
 * @returns undefined if these bytes do not contain the size
 */
export function imageSize(type: string, head: Buffer): ImageSize | undefined {
  switch (type) {
    case 'image/png':
      return head.length < 24 ? undefined : { width: head.readUInt32BE(16), height: head.readUInt32BE(20) }
    case 'image/gif':
      return head.length < 10 ? undefined : { width: head.readUInt16LE(6), height: head.readUInt16LE(8) }
    case 'image/jpeg':
      return jpegSize(head)
    case 'image/webp':
      return webpSize(head)
    case 'image/heic':
    case 'image/heif':
    case 'image/avif':
      return heifSize(head)
    default:
      return undefined
  }
}

/** Reads the frame header. Markers 0xc4, 0xc8 and 0xcc are in its range, but are not frames. */
function jpegSize(head: Buffer): ImageSize | undefined {
  for (const { at, marker } of jpegSegments(head)) {
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)) {
      return { height: head.readUInt16BE(at + 5), width: head.readUInt16BE(at + 7) }
    }
  }
  return undefined
}

/** RFC 9649, section 2. */
function webpSize(head: Buffer): ImageSize | undefined {
  if (head.length < 30) return undefined
  const kind = head.toString('latin1', 12, 16)
  if (kind === 'VP8X') return { width: head.readUIntLE(24, 3) + 1, height: head.readUIntLE(27, 3) + 1 }
  if (kind === 'VP8L') {
    const bits = head.readUInt32LE(21)
    return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
  }
  return { width: head.readUInt16LE(26) & 0x3fff, height: head.readUInt16LE(28) & 0x3fff }
}

/** ISO/IEC 23008-12: the largest `ispe` box (image spatial extents). Tiles and thumbnails have smaller ones. */
function heifSize(head: Buffer): ImageSize | undefined {
  let largest: ImageSize | undefined
  for (let at = head.indexOf('ispe'); at !== -1 && at + 16 <= head.length; at = head.indexOf('ispe', at + 4)) {
    const found = { width: head.readUInt32BE(at + 8), height: head.readUInt32BE(at + 12) }
    if (!largest || found.width * found.height > largest.width * largest.height) largest = found
  }
  return largest
}
