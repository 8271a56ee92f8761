import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { flvHeader, flvTag } from '../preview/flv-tag.ts'
import type { SinkMessage } from './sink.ts'
import { findFfmpeg } from './ffmpeg.ts'

/** Makes an FLV file from the messages of a sink with `keepPayloads`. */
export function flvOf(messages: readonly SinkMessage[]): Buffer {
  const tags = messages.map((message) => {
    if (message.payload === undefined) throw new Error('the sink keeps no payloads')
    return flvTag({ kind: message.kind, payload: message.payload }, message.timestamp)
  })
  return Buffer.concat([flvHeader({ audio: true, video: true }), ...tags])
}

const WIDTH = 32
const HEIGHT = 18

/** Mean luma of each frame of a file, 0 to 255. Rejects at the first error of the decoder. */
export async function brightnessOf(file: string): Promise<number[]> {
  const decode = ['-v', 'error', '-xerror', '-err_detect', 'explode', '-i', file, '-map', '0:v:0']
  const grey = `scale=${WIDTH}:${HEIGHT},format=gray,setpts=N/(30*TB)`
  const output = ['-vf', grey, '-vsync', 'passthrough', '-f', 'rawvideo', 'pipe:1']
  const options = { encoding: 'buffer', maxBuffer: 64 * 1024 * 1024 } as const
  const ffmpeg = findFfmpeg()
  const { stderr, stdout } = await promisify(execFile)(ffmpeg, [...decode, ...output], options)
  if (stderr.length > 0) throw new Error(stderr.toString())
  const pixels = WIDTH * HEIGHT
  return Array.from({ length: stdout.length / pixels }, (_, at) => {
    const picture = stdout.subarray(at * pixels, (at + 1) * pixels)
    return picture.reduce((sum, value) => sum + value, 0) / pixels
  })
}
