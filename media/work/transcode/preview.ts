import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { MediaWorkError } from '../errors.ts'
import { PREVIEW_MEDIA, PREVIEW_PLAYLIST } from '../outputs.ts'
import type { WorkContext } from '../process/context.ts'
import { openSource } from '../probe/source-file.ts'
import { probeWorkable } from '../probe/timed.ts'
import type { PreviewResult, ProbeResult } from '../types.ts'
import { frame } from './framing.ts'
import { maxPreviewBytes, PREVIEW } from './presets.ts'
import { aac, h264, STRIP_OPTIONS, videoFilter } from './video.ts'

/**
 * Makes a small HLS rendition (RFC 8216), so that viewers can look through a long video without loading it. The segments are
 * byte ranges of one MPEG transport stream, because thousands of files would take thousands of requests to store and delete.
 * @throws MediaWorkError
 */
export async function preview(
  path: string,
  outputDir: string,
  probed: ProbeResult | undefined,
  context: WorkContext,
): Promise<PreviewResult> {
  const file = await openSource(path, probed)
  if (file.kind.decoder !== 'ffmpeg') throw new MediaWorkError('unsupported', 'The file is not a video.')
  const source = await probeWorkable(file, context)
  if (source.video === null) throw new MediaWorkError('unsupported', 'The file has no video.')
  const seconds = source.seconds ?? 0
  if (maxPreviewBytes(seconds) > context.limits.outputBytes) {
    throw new MediaWorkError('too_large', 'The preview would be larger than the limit.')
  }
  const { audioKbps, crf, edge, fps, segmentSeconds, videoKbps } = PREVIEW
  const rate = Math.min(fps, source.video.frameRate ?? fps)
  const target = frame(source.video, { maxWidth: edge, maxHeight: edge, fit: 'crop', multiple: 2 })
  const encoder = h264({ crf, kbps: videoKbps, keyframes: Math.round(rate * segmentSeconds) })
  const keyframes = ['-force_key_frames', `expr:gte(t,n_forced*${segmentSeconds})`]
  const video = ['-map', '0:V:0', '-vf', videoFilter(target, source, rate), ...encoder, ...keyframes]
  const audio = source.audio === null ? ['-an'] : ['-map', '0:a:0', ...aac(audioKbps, null)]
  const list = ['-hls_time', String(segmentSeconds), '-hls_list_size', '0', '-hls_playlist_type', 'vod']
  const segments = [
    '-hls_segment_filename',
    PREVIEW_MEDIA,
    '-hls_flags',
    'single_file+independent_segments',
    '-f',
    'hls',
  ]
  await context.ffmpeg.run({
    input: path,
    outputOptions: [...video, ...audio, ...STRIP_OPTIONS, ...list, ...segments],
    output: PREVIEW_PLAYLIST,
    cwd: outputDir,
    signal: context.signal,
    seconds,
    onProgress: context.progress,
  })
  const [playlist, media] = [join(outputDir, PREVIEW_PLAYLIST), join(outputDir, PREVIEW_MEDIA)]
  const [{ size: playlistBytes }, { size: mediaBytes }] = await Promise.all([stat(playlist), stat(media)])
  return { playlist, playlistBytes, media, mediaBytes, width: target.width, height: target.height, seconds }
}
