import { MediaWorkError } from '../errors.ts'
import type { WorkContext } from '../process/context.ts'
import type { SourceFile } from '../probe/source-file.ts'
import { probeWorkable, type TimedMedia } from '../probe/timed.ts'
import type { HdrTransfer, TranscodeResult, VideoTrack } from '../types.ts'
import { clipOf, encodeTimed, kilobitsFor } from './encode-timed.ts'
import { checkLength } from './fitness.ts'
import { frame, type Frame, type FrameRule } from './framing.ts'
import { VIDEO_PRESETS, type VideoRule } from './presets.ts'
import { ASPECTS, type VideoSpec } from './spec.ts'

const DEFAULT_RULE: VideoRule = { maxWidth: 3840, maxHeight: 3840, maxFps: 60, videoKbps: 20_000 }
const AUDIO_KBPS = 128
const MIN_KBPS = 64
/** Bits per pixel below which a smaller frame looks better. */
const MIN_BITS_PER_PIXEL = 0.03
const MIN_SCALE = 0.25
const KEYFRAME_SECONDS = 2

const STEREO_SILENCE = 'anullsrc=channel_layout=stereo:sample_rate=48000[silence]'
/** A silent track as long as the video. */
const SILENCE = ['-filter_complex', STEREO_SILENCE, '-map', '[silence]', '-c:a', 'aac', '-b:a', '64k', '-shortest']

/** @throws MediaWorkError */
export async function transcodeVideo(
  file: SourceFile,
  output: string,
  spec: VideoSpec,
  context: WorkContext,
): Promise<TranscodeResult> {
  const source = await probeWorkable(file, context)
  if (source.video === null) throw new MediaWorkError('unsupported', 'The file has no video.')
  const preset: VideoRule = spec.preset === undefined ? DEFAULT_RULE : VIDEO_PRESETS[spec.preset]
  const clip = clipOf(source, spec)
  if (spec.preset !== undefined) checkLength(clip.seconds, spec.preset)
  const maxBytes = spec.maxBytes ?? preset.maxBytes
  const hasAudio = source.audio !== null && spec.mute !== true
  const audioKbps = hasAudio ? (spec.audioKbps ?? AUDIO_KBPS) : 0
  let videoKbps = spec.videoKbps ?? preset.videoKbps
  if (maxBytes !== undefined && clip.seconds !== null) {
    const { seconds } = clip
    videoKbps = Math.min(videoKbps, kilobitsFor(maxBytes, { seconds, otherKbps: audioKbps, minKbps: MIN_KBPS }))
  }
  const rate = frameRate(source.video, preset, spec)
  const aspect = spec.aspect ?? preset.aspect
  const rule: FrameRule = {
    maxWidth: spec.maxWidth ?? preset.maxWidth,
    maxHeight: spec.maxHeight ?? preset.maxHeight,
    // The caller's settings override the minimum of the preset.
    minWidth: spec.maxWidth === undefined ? preset.minWidth : undefined,
    minHeight: spec.maxHeight === undefined ? preset.minHeight : undefined,
    aspects: aspect === undefined ? undefined : [ASPECTS[aspect], ASPECTS[aspect]],
    fit: spec.fit ?? 'crop',
    multiple: 2,
  }
  const target = frameForBitrate(source.video, rule, (videoKbps * 1000) / rate)
  const encoder = h264({ crf: spec.crf ?? 21, kbps: videoKbps, keyframes: Math.round(rate * KEYFRAME_SECONDS) })
  const video = ['-map', '0:V:0', '-vf', videoFilter(target, source, rate), ...encoder]
  const silence = preset.needsAudio && spec.mute !== true ? SILENCE : ['-an']
  const audio = (filter: string | null) => (hasAudio ? ['-map', '0:a:0', ...aac(audioKbps, filter)] : silence)
  const container = ['-movflags', '+faststart', '-f', 'mp4']
  const outputOptions = (filter: string | null) => [...video, ...audio(filter), ...STRIP_OPTIONS, ...container]
  return encodeTimed(
    file.path,
    output,
    { source, spec, outputOptions, hasAudio, clip, maxBytes, mime: 'video/mp4' },
    context,
  )
}

/** Remove metadata (such as the location), subtitles, chapters and data tracks. */
export const STRIP_OPTIONS: readonly string[] = ['-sn', '-dn', '-map_metadata', '-1', '-map_chapters', '-1']

export function h264({ crf, kbps, keyframes }: { crf: number; kbps: number; keyframes: number }): readonly string[] {
  const quality = ['-crf', String(crf), '-maxrate', `${kbps}k`, '-bufsize', `${kbps}k`]
  // All players support the high profile with 4:2:0. Many do not support more bits or less subsampling.
  const format = ['-profile:v', 'high', '-pix_fmt', 'yuv420p', '-g', String(Math.max(1, keyframes))]
  return ['-c:v', 'libx264', '-preset', 'veryfast', ...quality, ...format]
}

export function aac(kbps: number, filter: string | null): readonly string[] {
  const format = ['-c:a', 'aac', '-b:a', `${kbps}k`, '-ac', '2', '-ar', '48000']
  return filter === null ? format : ['-af', filter, ...format]
}

export function videoFilter(target: Frame, source: TimedMedia, rate: number): string {
  const { crop, scaled, width, height } = target
  const sourceRate = source.video?.frameRate
  const cropped = crop.width !== source.video?.width || crop.height !== source.video.height
  const padded = scaled.width !== width || scaled.height !== height
  // White behind transparent pixels, as on a web page. MP4 has no transparency.
  const white = 'format=rgba,split[under][over];[under]lutrgb=r=255:g=255:b=255:a=255[white];[white][over]overlay'
  const hdr = source.video?.hdr
  return [
    // Deinterlaces only frames that are marked as interlaced.
    'yadif=deint=interlaced',
    ...(source.hasAlpha ? [white] : []),
    // Set a constant frame rate if the source has none or another one. Players and platforms require it.
    ...(sourceRate === null || sourceRate === undefined || Math.abs(sourceRate - rate) > 0.01 ? [`fps=${rate}`] : []),
    'scale=trunc(iw*sar):ih,setsar=1',
    ...(cropped ? [`crop=${crop.width}:${crop.height}`] : []),
    `scale=${scaled.width}:${scaled.height}:flags=bicubic`,
    ...(hdr ? [toneMapFilter(hdr)] : []),
    ...(padded ? [`pad=${width}:${height}:(ow-iw)/2:(oh-ih)/2`] : []),
    'setsar=1',
  ].join(',')
}

/** Tone-maps HDR (BT.2020) to BT.709, because most players and all live platforms show nothing else. */
export function toneMapFilter(transfer: HdrTransfer): string {
  return [
    `zscale=tin=${transfer}:pin=bt2020:min=bt2020nc:t=linear:npl=100`,
    'format=gbrpf32le',
    'zscale=p=bt709',
    'tonemap=tonemap=hable:desat=0',
    'zscale=t=bt709:m=bt709:r=tv',
    'format=yuv420p',
  ].join(',')
}

/** The frame of a rule, scaled down if the bitrate is too low for its pixels. @param bits bits per frame */
function frameForBitrate(source: { width: number; height: number }, rule: FrameRule, bits: number): Frame {
  const target = frame(source, rule)
  const scale = Math.max(MIN_SCALE, Math.sqrt(bits / MIN_BITS_PER_PIXEL / (target.width * target.height)))
  if (scale >= 1) return target
  const [maxWidth, maxHeight] = [Math.ceil(target.width * scale), Math.ceil(target.height * scale)]
  return frame(source, { ...rule, maxWidth, maxHeight, minWidth: 0, minHeight: 0 })
}

function frameRate(video: VideoTrack, preset: VideoRule, spec: VideoSpec): number {
  const max = spec.fps ?? preset.maxFps
  const min = Math.min(max, preset.minFps ?? 1)
  const sourceRate = video.frameRate ?? 30
  return Math.min(max, Math.max(min, sourceRate))
}
