import { MediaWorkError } from '../errors.ts'
import type { WorkContext } from '../process/context.ts'
import type { SourceFile } from '../probe/source-file.ts'
import { probeWorkable } from '../probe/timed.ts'
import type { TranscodeResult } from '../types.ts'
import { clipOf, encodeTimed, kilobitsFor } from './encode-timed.ts'
import type { AudioSpec } from './spec.ts'
import { aac, STRIP_OPTIONS } from './video.ts'

const DEFAULT_KBPS = 160
const MIN_KBPS = 24

/** @throws MediaWorkError */
export async function transcodeAudio(
  file: SourceFile,
  output: string,
  spec: AudioSpec,
  context: WorkContext,
): Promise<TranscodeResult> {
  const source = await probeWorkable(file, context)
  if (source.audio === null) throw new MediaWorkError('unsupported', 'The file has no audio.')
  const clip = clipOf(source, spec)
  const { maxBytes, format = 'm4a' } = spec
  let kbps = spec.audioKbps ?? DEFAULT_KBPS
  if (maxBytes !== undefined && clip.seconds !== null) {
    kbps = Math.min(kbps, kilobitsFor(maxBytes, { seconds: clip.seconds, otherKbps: 0, minKbps: MIN_KBPS }))
  }
  const mp3 = (filter: string | null) => [
    ...(filter === null ? [] : ['-af', filter]),
    '-c:a',
    'libmp3lame',
    '-b:a',
    `${kbps}k`,
  ]
  const container = format === 'm4a' ? ['-movflags', '+faststart', '-f', 'mp4'] : ['-f', 'mp3']
  const encoder = (filter: string | null) => (format === 'm4a' ? aac(kbps, filter) : mp3(filter))
  const outputOptions = (filter: string | null) => [
    '-map',
    '0:a:0',
    '-vn',
    ...encoder(filter),
    ...STRIP_OPTIONS,
    ...container,
  ]
  const mime = format === 'm4a' ? 'audio/mp4' : 'audio/mpeg'
  return encodeTimed(file.path, output, { source, spec, outputOptions, hasAudio: true, clip, maxBytes, mime }, context)
}
