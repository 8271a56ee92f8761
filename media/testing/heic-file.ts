import { readFile, writeFile } from 'node:fs/promises'
import { runFfmpeg } from './ffmpeg.ts'

/**
 * Makes a HEIC picture: the boxes of ISO/IEC 23008-12 around one HEVC frame. Needed because ffmpeg does not write HEIC.
 *
 * @param quarterTurns counter-clockwise rotation, as in `irot`
 */
export async function makeHeic(
  file: string,
  picture: string,
  { width, height, quarterTurns = 0 }: { width: number; height: number; quarterTurns?: number },
): Promise<void> {
  const video = `${file}.mp4`
  const codec = ['-c:v', 'libx265', '-x265-params', 'log-level=error', '-tag:v', 'hvc1', '-pix_fmt', 'yuv420p']
  await runFfmpeg('-f', 'lavfi', '-i', picture, '-frames:v', '1', ...codec, '-f', 'mp4', video)
  const bytes = await readFile(video)
  const frame = boxBody(bytes, 'mdat')
  const item = (frames: Buffer) => {
    const properties = [
      box('hvcC', boxBody(bytes, 'hvcC')),
      fullBox('ispe', uint32(width), uint32(height)),
      box('irot', Buffer.from([quarterTurns])),
    ]
    const associations = Buffer.from([0, 0, 0, 1, 0, 1, properties.length, 0x81, 2, 0x83])
    return (offset: number) =>
      fullBox(
        'meta',
        fullBox('hdlr', uint32(0), Buffer.from('pict'), Buffer.alloc(13)),
        fullBox('pitm', uint16(1)),
        // One extent: 4 bytes for its offset and 4 for its length.
        fullBox(
          'iloc',
          Buffer.from([0x44, 0]),
          uint16(1),
          uint16(1),
          uint16(0),
          uint16(1),
          uint32(offset),
          uint32(frames.length),
        ),
        fullBox('iinf', uint16(1), box('infe', Buffer.from([2, 0, 0, 0]), uint16(1), uint16(0), Buffer.from('hvc1\0'))),
        box('iprp', box('ipco', ...properties), fullBox('ipma', associations)),
      )
  }
  const type = box('ftyp', Buffer.from('heic'), uint32(0), Buffer.from('mif1heic'))
  const head = type.length + item(frame)(0).length
  await writeFile(file, Buffer.concat([type, item(frame)(head + 8), box('mdat', frame)]))
}

function boxBody(bytes: Buffer, type: string): Buffer {
  const at = bytes.indexOf(type)
  if (at < 4) throw new Error(`there is no ${type} box`)
  return bytes.subarray(at + 4, at - 4 + bytes.readUInt32BE(at - 4))
}

function box(type: string, ...body: readonly Buffer[]): Buffer {
  const content = Buffer.concat(body)
  return Buffer.concat([uint32(content.length + 8), Buffer.from(type), content])
}

function fullBox(type: string, ...body: readonly Buffer[]): Buffer {
  return box(type, uint32(0), ...body)
}

function uint32(value: number): Buffer {
  const buffer = Buffer.alloc(4)
  buffer.writeUInt32BE(value)
  return buffer
}

function uint16(value: number): Buffer {
  const buffer = Buffer.alloc(2)
  buffer.writeUInt16BE(value)
  return buffer
}
