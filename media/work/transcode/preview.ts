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
import { aac, CLEAN, h264, pictureFilter } from './video.ts'

/**
 * One small rendition in pieces (RFC 8216), so that a long video can be looked through without being loaded. The pieces are
 * ranges of one MPEG transport stream: thousands of files would be thousands of requests to store, and to delete.
 * @throws MediaWorkError
 */
export async function preview(
  path: string,
  outputDir: string,
  probed: ProbeResult | undefined,
  context: WorkContext,
): Promise<PreviewResult> {
  const file = await openSource(path, probed)
  if (file.kind.way !== 'timed') throw new MediaWorkError('unsupported', 'It is no video.')
  const source = await probeWorkable(file, context)
  if (source.video === null) throw new MediaWorkError('unsupported', 'There is no picture in it.')
  const seconds = source.seconds ?? 0
  if (maxPreviewBytes(seconds) > context.limits.outputBytes) {
    throw new MediaWorkError('too_large', 'The preview would be larger than is allowed.')
  }
  const { audioKbps, crf, edge, fps, segmentSeconds, videoKbps } = PREVIEW
  const rate = Math.min(fps, source.video.frameRate ?? fps)
  const target = frame(source.video, { maxWidth: edge, maxHeight: edge, fit: 'crop', multiple: 2 })
  const coded = h264({ crf, kbps: videoKbps, keyframes: Math.round(rate * segmentSeconds) })
  const cuts = ['-force_key_frames', `expr:gte(t,n_forced*${segmentSeconds})`]
  const picture = ['-map', '0:V:0', '-vf', pictureFilter(target, source, rate), ...coded, ...cuts]
  const sound = source.audio === null ? ['-an'] : ['-map', '0:a:0', ...aac(audioKbps, null)]
  const list = ['-hls_time', String(segmentSeconds), '-hls_list_size', '0', '-hls_playlist_type', 'vod']
  const pieces = ['-hls_segment_filename', PREVIEW_MEDIA, '-hls_flags', 'single_file+independent_segments', '-f', 'hls']
  await context.ffmpeg.run({
    input: path,
    outputOptions: [...picture, ...sound, ...CLEAN, ...list, ...pieces],
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
