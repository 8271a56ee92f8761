import { MediaWorkError } from '../errors.ts'
import type { WorkContext } from '../process/context.ts'
import type { SourceFile } from '../probe/source-file.ts'
import { probeWorkable } from '../probe/timed.ts'
import type { TranscodeResult } from '../types.ts'
import { clipOf, encodeTimed, kilobitsFor } from './encode-timed.ts'
import type { AudioSpec } from './spec.ts'
import { aac, CLEAN } from './video.ts'

const KBPS = 160
const LEAST_KBPS = 24

/** @throws MediaWorkError */
export async function transcodeAudio(
  file: SourceFile,
  output: string,
  spec: AudioSpec,
  context: WorkContext,
): Promise<TranscodeResult> {
  const source = await probeWorkable(file, context)
  if (source.audio === null) throw new MediaWorkError('unsupported', 'There is no sound in it.')
  const clip = clipOf(source, spec)
  const { maxBytes, format = 'm4a' } = spec
  let kbps = spec.audioKbps ?? KBPS
  if (maxBytes !== undefined && clip.seconds !== null) {
    kbps = Math.min(kbps, kilobitsFor(maxBytes, { seconds: clip.seconds, otherKbps: 0, leastKbps: LEAST_KBPS }))
  }
  const mp3 = (filter: string | null) => [
    ...(filter === null ? [] : ['-af', filter]),
    '-c:a',
    'libmp3lame',
    '-b:a',
    `${kbps}k`,
  ]
  const container = format === 'm4a' ? ['-movflags', '+faststart', '-f', 'mp4'] : ['-f', 'mp3']
  const coded = (filter: string | null) => (format === 'm4a' ? aac(kbps, filter) : mp3(filter))
  const outputOptions = (filter: string | null) => ['-map', '0:a:0', '-vn', ...coded(filter), ...CLEAN, ...container]
  const mime = format === 'm4a' ? 'audio/mp4' : 'audio/mpeg'
  return encodeTimed(file.path, output, { source, spec, outputOptions, hasSound: true, clip, maxBytes, mime }, context)
}
