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

const FREE: VideoRule = { maxWidth: 3840, maxHeight: 3840, maxFps: 60, videoKbps: 20_000 }
const AUDIO_KBPS = 128
const LEAST_KBPS = 64
/** With fewer bits for a pixel, fewer pixels look better. */
const LEAST_BITS = 0.03
const LEAST_SCALE = 0.25
const KEYFRAME_SECONDS = 2

const STEREO_SILENCE = 'anullsrc=channel_layout=stereo:sample_rate=48000[silence]'
/** As long as the picture. */
const SILENCE = ['-filter_complex', STEREO_SILENCE, '-map', '[silence]', '-c:a', 'aac', '-b:a', '64k', '-shortest']

/** @throws MediaWorkError */
export async function transcodeVideo(
  file: SourceFile,
  output: string,
  spec: VideoSpec,
  context: WorkContext,
): Promise<TranscodeResult> {
  const source = await probeWorkable(file, context)
  if (source.video === null) throw new MediaWorkError('unsupported', 'There is no picture in it.')
  const preset: VideoRule = spec.preset === undefined ? FREE : VIDEO_PRESETS[spec.preset]
  const clip = clipOf(source, spec)
  if (spec.preset !== undefined) checkLength(clip.seconds, spec.preset)
  const maxBytes = spec.maxBytes ?? preset.maxBytes
  const hasSound = source.audio !== null && spec.mute !== true
  const audioKbps = hasSound ? (spec.audioKbps ?? AUDIO_KBPS) : 0
  let videoKbps = spec.videoKbps ?? preset.videoKbps
  if (maxBytes !== undefined && clip.seconds !== null) {
    const { seconds } = clip
    videoKbps = Math.min(videoKbps, kilobitsFor(maxBytes, { seconds, otherKbps: audioKbps, leastKbps: LEAST_KBPS }))
  }
  const rate = frameRate(source.video, preset, spec)
  const aspect = spec.aspect ?? preset.aspect
  const rule: FrameRule = {
    maxWidth: spec.maxWidth ?? preset.maxWidth,
    maxHeight: spec.maxHeight ?? preset.maxHeight,
    // What the caller set stands over what the platform would have.
    minWidth: spec.maxWidth === undefined ? preset.minWidth : undefined,
    minHeight: spec.maxHeight === undefined ? preset.minHeight : undefined,
    aspects: aspect === undefined ? undefined : [ASPECTS[aspect], ASPECTS[aspect]],
    fit: spec.fit ?? 'crop',
    multiple: 2,
  }
  const target = affordable(source.video, rule, (videoKbps * 1000) / rate)
  const coded = h264({ crf: spec.crf ?? 21, kbps: videoKbps, keyframes: Math.round(rate * KEYFRAME_SECONDS) })
  const picture = ['-map', '0:V:0', '-vf', pictureFilter(target, source, rate), ...coded]
  const silence = preset.needsSound && spec.mute !== true ? SILENCE : ['-an']
  const sound = (filter: string | null) => (hasSound ? ['-map', '0:a:0', ...aac(audioKbps, filter)] : silence)
  const container = ['-movflags', '+faststart', '-f', 'mp4']
  const outputOptions = (filter: string | null) => [...picture, ...sound(filter), ...CLEAN, ...container]
  return encodeTimed(
    file.path,
    output,
    { source, spec, outputOptions, hasSound, clip, maxBytes, mime: 'video/mp4' },
    context,
  )
}

/** Neither where it was taken nor anything else that was noted in it; no subtitles, chapters or data. */
export const CLEAN: readonly string[] = ['-sn', '-dn', '-map_metadata', '-1', '-map_chapters', '-1']

export function h264({ crf, kbps, keyframes }: { crf: number; kbps: number; keyframes: number }): readonly string[] {
  const quality = ['-crf', String(crf), '-maxrate', `${kbps}k`, '-bufsize', `${kbps}k`]
  // Every player has the high profile with halved colours; more bits a colour, or more colour, many do not.
  const form = ['-profile:v', 'high', '-pix_fmt', 'yuv420p', '-g', String(Math.max(1, keyframes))]
  return ['-c:v', 'libx264', '-preset', 'veryfast', ...quality, ...form]
}

export function aac(kbps: number, filter: string | null): readonly string[] {
  const form = ['-c:a', 'aac', '-b:a', `${kbps}k`, '-ac', '2', '-ar', '48000']
  return filter === null ? form : ['-af', filter, ...form]
}

export function pictureFilter(target: Frame, source: TimedMedia, rate: number): string {
  const { crop, scaled, width, height } = target
  const own = source.video?.frameRate
  const cropped = crop.width !== source.video?.width || crop.height !== source.video.height
  const padded = scaled.width !== width || scaled.height !== height
  // White behind what lets through, as on a page; MP4 would show black, or what was left there.
  const white = 'format=rgba,split[under][over];[under]lutrgb=r=255:g=255:b=255:a=255[white];[white][over]overlay'
  const hdr = source.video?.hdr
  return [
    // Frames that are not marked as interlaced pass unchanged.
    'yadif=deint=interlaced',
    ...(source.hasAlpha ? [white] : []),
    // Without a rate of its own, or with a varying one, frames come when they come: players and platforms want a rate.
    ...(own === null || own === undefined || Math.abs(own - rate) > 0.01 ? [`fps=${rate}`] : []),
    'scale=trunc(iw*sar):ih,setsar=1',
    ...(cropped ? [`crop=${crop.width}:${crop.height}`] : []),
    `scale=${scaled.width}:${scaled.height}:flags=bicubic`,
    ...(hdr ? [toneMapped(hdr)] : []),
    ...(padded ? [`pad=${width}:${height}:(ow-iw)/2:(oh-ih)/2`] : []),
    'setsar=1',
  ].join(',')
}

/** High dynamic range (BT.2020) into BT.709, highlights compressed: most players and all live platforms show nothing else. */
function toneMapped(transfer: HdrTransfer): string {
  return [
    `zscale=tin=${transfer}:pin=bt2020:min=bt2020nc:t=linear:npl=100`,
    'format=gbrpf32le',
    'zscale=p=bt709',
    'tonemap=tonemap=hable:desat=0',
    'zscale=t=bt709:m=bt709:r=tv',
    'format=yuv420p',
  ].join(',')
}

/** @param bits that there are for one frame */
function affordable(source: { width: number; height: number }, rule: FrameRule, bits: number): Frame {
  const target = frame(source, rule)
  const scale = Math.max(LEAST_SCALE, Math.sqrt(bits / LEAST_BITS / (target.width * target.height)))
  if (scale >= 1) return target
  const [maxWidth, maxHeight] = [Math.ceil(target.width * scale), Math.ceil(target.height * scale)]
  return frame(source, { ...rule, maxWidth, maxHeight, minWidth: 0, minHeight: 0 })
}

function frameRate(video: VideoTrack, preset: VideoRule, spec: VideoSpec): number {
  const most = spec.fps ?? preset.maxFps
  const least = Math.min(most, preset.minFps ?? 1)
  const own = video.frameRate ?? 30
  return Math.min(most, Math.max(least, own))
}
