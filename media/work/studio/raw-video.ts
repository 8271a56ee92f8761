/**
 * Frames with times for ffmpeg, as Matroska with uncompressed video (RFC 9559). A frame lasts until the next one, so a still
 * picture is sent once. Raw video has no times, and a list of files would need a file for every frame.
 */

/** @param framesPerSecond the unit of the times of frames */
export function videoHeader(width: number, height: number, framesPerSecond: number): Buffer {
  const header = element(0x1a_45_df_a3, [
    element(0x42_82, [Buffer.from('matroska')]),
    number(0x42_87, 4),
    number(0x42_85, 2),
  ])
  const info = element(0x15_49_a9_66, [number(0x2a_d7_b1, Math.round(1e9 / framesPerSecond))])
  const frame = element(0xe0, [number(0xb0, width), number(0xba, height), element(0x2e_b5_24, [Buffer.from('RGBA')])])
  const codec = element(0x86, [Buffer.from('V_UNCOMPRESSED')])
  const track = element(0xae, [number(0xd7, 1), number(0x73_c5, 1), number(0x83, 1), codec, frame])
  // Its size is unknown.
  const segment = Buffer.from([0x18, 0x53, 0x80, 0x67, 0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])
  return Buffer.concat([header, segment, info, element(0x16_54_ae_6b, [track])])
}

/** What precedes the pixels of a frame. @param time when it is shown, in frames */
export function frameHeader(time: number, bytes: number): Buffer {
  const timestamp = number(0xe7, time)
  // Track 1, at the time of its cluster, a keyframe.
  const block = Buffer.concat([start(0xa3, bytes + 4), Buffer.from([0x81, 0, 0, 0x80])])
  return Buffer.concat([start(0x1f_43_b6_75, timestamp.length + block.length + bytes), timestamp, block])
}

function element(id: number, content: readonly Buffer[]): Buffer {
  const body = Buffer.concat(content)
  return Buffer.concat([start(id, body.length), body])
}

function number(id: number, value: number): Buffer {
  const body = Buffer.alloc(6)
  body.writeUIntBE(value, 0, 6)
  return element(id, [body])
}

/** The id of an element and the size of its content, in eight bytes. */
function start(id: number, size: number): Buffer {
  const idBytes = Math.ceil((32 - Math.clz32(id)) / 8)
  const bytes = Buffer.alloc(idBytes + 8)
  bytes.writeUIntBE(id, 0, idBytes)
  bytes[idBytes] = 1
  bytes.writeUIntBE(size, idBytes + 2, 6)
  return bytes
}
