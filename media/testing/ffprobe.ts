import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { toolPath } from '../../test/support/tools.ts'

interface Probed {
  readonly streams: readonly { readonly codec_type: string; readonly codec_name: string }[]
  readonly packets: readonly { readonly codec_type: string; readonly pts_time: string }[]
}

/** The codecs of a file, and the sorted presentation times of its packets in seconds. */
export interface ProbedTimes {
  readonly codecs: string[]
  readonly video: number[]
  readonly audio: number[]
}

/** Reads codecs and times with ffprobe. Rejects when ffprobe prints a warning. */
export async function probeTimes(file: string): Promise<ProbedTimes> {
  const args = ['-v', 'warning', '-show_entries', 'stream=codec_name:packet=codec_type,pts_time', '-of', 'json', file]
  const options = { maxBuffer: 64 * 1024 * 1024 }
  const { stderr, stdout } = await promisify(execFile)(toolPath('ffprobe').command, args, options)
  if (stderr !== '') throw new Error(stderr)
  const { packets, streams } = JSON.parse(stdout) as Probed
  const times = (kind: string) =>
    packets
      .filter(({ codec_type: type }) => type === kind)
      .map(({ pts_time: time }) => Number(time))
      .toSorted((one, other) => one - other)
  return { codecs: streams.map(({ codec_name: name }) => name), video: times('video'), audio: times('audio') }
}
