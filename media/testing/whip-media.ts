import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runFfmpeg } from './ffmpeg.ts'

/** A short clip for WHIP: NAL units of each frame, and Opus packets of 20 ms. */
export interface WhipMedia {
  readonly frames: readonly (readonly Buffer[])[]
  readonly audio: readonly Buffer[]
  readonly framesPerSecond: number
}

export interface WhipMediaOptions {
  readonly seconds?: number
  readonly size?: string
  readonly kilobits?: number
  /** Frames from one keyframe to the next. */
  readonly group?: number
}

const FRAMES_PER_SECOND = 30

/** Makes a clip with ffmpeg: a test picture in H.264 like that of browsers, and a tone in Opus. */
export async function makeWhipMedia(options: WhipMediaOptions = {}): Promise<WhipMedia> {
  const { group = 15, kilobits = 1_000, seconds = 2, size = '640x360' } = options
  const folder = await mkdtemp(join(tmpdir(), 'crier-whip-media-'))
  try {
    const [video, audio] = [join(folder, 'video.h264'), join(folder, 'audio.ogg')]
    const encoder = `-t ${seconds} -map 0:v -c:v libx264 -profile:v baseline -preset veryfast -b:v ${kilobits}k -g ${group}`
    const format = '-x264-params aud=1:slices=1:scenecut=0 -pix_fmt yuv420p -f h264'
    await runFfmpeg(
      ...words(`-f lavfi -i testsrc2=size=${size}:rate=${FRAMES_PER_SECOND}`),
      ...words('-f lavfi -i sine=frequency=440:sample_rate=48000'),
      ...words(`${encoder} ${format}`),
      video,
      ...words(`-t ${seconds} -map 1:a -c:a libopus -ac 2 -b:a 64k -f ogg`),
      audio,
    )
    return {
      frames: framesOf(await readFile(video)),
      audio: packetsOf(await readFile(audio)).slice(2),
      framesPerSecond: FRAMES_PER_SECOND,
    }
  } finally {
    await rm(folder, { recursive: true })
  }
}

function words(text: string): string[] {
  return text.split(' ')
}

/** Splits an Annex B stream at its access unit delimiters. */
function framesOf(bytes: Buffer): Buffer[][] {
  const frames: Buffer[][] = []
  let start = bytes.indexOf('000001', 0, 'hex')
  while (start >= 0) {
    const next = bytes.indexOf('000001', start + 3, 'hex')
    let end = next < 0 ? bytes.length : next
    while (end > start + 3 && bytes[end - 1] === 0) end -= 1
    const nal = bytes.subarray(start + 3, end)
    if ((nal[0]! & 0x1f) === 9) frames.push([])
    frames.at(-1)?.push(nal)
    start = next
  }
  return frames
}

/** Packets of an Ogg file (RFC 3533) with one stream. */
function packetsOf(bytes: Buffer): Buffer[] {
  const packets: Buffer[] = []
  let open: Buffer[] = []
  for (let page = 0; page + 27 <= bytes.length;) {
    const count = bytes[page + 26]!
    let offset = page + 27 + count
    for (const size of bytes.subarray(page + 27, offset)) {
      open.push(bytes.subarray(offset, offset + size))
      offset += size
      if (size === 255) continue
      packets.push(Buffer.concat(open))
      open = []
    }
    page = offset
  }
  return packets
}

/** The FLV tag body of a frame, without parameter sets. */
export function tagBody(nals: readonly Buffer[]): Buffer {
  const kept = nals.filter((nal) => ![7, 8, 9].includes(nal[0]! & 0x1f))
  const isKeyframe = kept.some((nal) => (nal[0]! & 0x1f) === 5)
  const sized = kept.flatMap((nal) => {
    const size = Buffer.alloc(4)
    size.writeUInt32BE(nal.length)
    return [size, nal]
  })
  return Buffer.concat([Buffer.of(isKeyframe ? 0x17 : 0x27, 1, 0, 0, 0), ...sized])
}
