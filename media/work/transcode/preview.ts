import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { MediaWorkError } from '../errors.ts'
import { PLAYLIST, previewFiles, SEGMENTS } from '../outputs.ts'
import type { WorkContext } from '../process/context.ts'
import { fileKind } from '../probe/file-kind.ts'
import { probeWorkable } from '../probe/timed.ts'
import type { PreviewResult } from '../types.ts'
import { frame } from './framing.ts'
import { aac, CLEAN, h264, pictureFilter } from './video.ts'

const EDGE = 640
const FPS = 30
const VIDEO_KBPS = 800
const AUDIO_KBPS = 96
const CRF = 26
const SEGMENT_SECONDS = 4

/**
 * One small rendition in pieces (RFC 8216), so that a long video can be looked through without being loaded.
 * @throws MediaWorkError
 */
export async function preview(path: string, outputDir: string, context: WorkContext): Promise<PreviewResult> {
  const kind = await fileKind(path)
  if (kind.way !== 'timed') throw new MediaWorkError('unsupported', 'It is no video.')
  const source = await probeWorkable(path, kind, context)
  if (source.video === null) throw new MediaWorkError('unsupported', 'There is no picture in it.')
  const seconds = source.seconds ?? 0
  if ((seconds * (VIDEO_KBPS + AUDIO_KBPS) * 1000) / 8 > context.limits.outputBytes) {
    throw new MediaWorkError('too_large', 'The preview would be larger than is allowed.')
  }
  const rate = Math.min(FPS, source.video.frameRate ?? FPS)
  const target = frame(source.video, { maxWidth: EDGE, maxHeight: EDGE, fit: 'crop', multiple: 2 })
  const coded = h264({ crf: CRF, kbps: VIDEO_KBPS, keyframes: Math.round(rate * SEGMENT_SECONDS) })
  const cuts = ['-force_key_frames', `expr:gte(t,n_forced*${SEGMENT_SECONDS})`]
  const picture = ['-map', '0:V:0', '-vf', pictureFilter(target, source, rate), ...coded, ...cuts]
  const sound = source.audio === null ? ['-an'] : ['-map', '0:a:0', ...aac(AUDIO_KBPS, null)]
  const list = ['-hls_time', String(SEGMENT_SECONDS), '-hls_list_size', '0', '-hls_playlist_type', 'vod']
  const pieces = ['-hls_segment_filename', SEGMENTS, '-hls_flags', 'independent_segments', '-f', 'hls']
  await context.ffmpeg.run({
    input: path,
    outputOptions: [...picture, ...sound, ...CLEAN, ...list, ...pieces],
    output: PLAYLIST,
    cwd: outputDir,
    signal: context.signal,
    seconds,
    onProgress: context.progress,
  })
  const files = await previewFiles(outputDir)
  const sizes = await Promise.all(files.map((name) => stat(join(outputDir, name))))
  const bytes = sizes.reduce((sum, { size }) => sum + size, 0)
  return { playlist: PLAYLIST, files, bytes, width: target.width, height: target.height, seconds }
}
