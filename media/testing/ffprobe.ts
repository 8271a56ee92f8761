import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { toolPath } from '../../test/support/tools.ts'

interface Probed {
  readonly streams: readonly { readonly codec_type: string; readonly codec_name: string }[]
  readonly packets: readonly { readonly codec_type: string; readonly pts_time: string }[]
}

/** What ffprobe reads of a file: the codec of each track, and when each packet is shown, in seconds and in order. */
export interface ProbedTimes {
  readonly codecs: string[]
  readonly video: number[]
  readonly audio: number[]
}

/** Rejects when ffprobe complains of the file. */
export async function probeTimes(file: string): Promise<ProbedTimes> {
  const ask = ['-v', 'warning', '-show_entries', 'stream=codec_name:packet=codec_type,pts_time', '-of', 'json', file]
  const options = { maxBuffer: 64 * 1024 * 1024 }
  const { stderr, stdout } = await promisify(execFile)(toolPath('ffprobe').command, ask, options)
  if (stderr !== '') throw new Error(stderr)
  const { packets, streams } = JSON.parse(stdout) as Probed
  const times = (kind: string) =>
    packets
      .filter(({ codec_type: type }) => type === kind)
      .map(({ pts_time: time }) => Number(time))
      .toSorted((one, other) => one - other)
  return { codecs: streams.map(({ codec_name: name }) => name), video: times('video'), audio: times('audio') }
}
