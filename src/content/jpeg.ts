/** A segment of a JPEG file. */
interface Segment {
  readonly marker: number
  readonly at: number
}

/** The segments before the image data that these bytes contain (ITU T.81, annex B). */
export function* jpegSegments(head: Buffer): Generator<Segment> {
  for (let at = 2; at + 9 < head.length;) {
    if (head[at] !== 0xff) return
    const marker = head[at + 1] ?? 0
    if (marker === 0xff) at += 1
    else if (marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8)) at += 2
    else {
      yield { marker, at }
      if (marker === START_OF_SCAN) return
      at += 2 + head.readUInt16BE(at + 2)
    }
  }
}

const START_OF_SCAN = 0xda

/** The offset of the image data, after any thumbnails. 0 if these bytes do not contain it. */
export function scanStart(head: Buffer): number {
  return [...jpegSegments(head)].find(({ marker }) => marker === START_OF_SCAN)?.at ?? 0
}
