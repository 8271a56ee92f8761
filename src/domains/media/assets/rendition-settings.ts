import {
  IMAGE_PRESETS,
  maxPreviewBytes,
  VIDEO_PRESETS,
  type ImagePreset,
  type VideoPreset,
} from '../../../../media/work/transcode/presets.ts'
import type { SourceFacts } from '../../../../media/work/transcode/fitness.ts'
import type { TranscodeSpec } from '../../../../media/work/transcode/spec.ts'
import { Input, Nullable, OneOf, Type, type Static } from '../../../core/schema.ts'
import { RenditionNotPossible } from './errors.ts'

export { maxPreviewBytes }

/** The specification of a rendition. A preview has no settings. */
export type RenditionSpec = TranscodeSpec | { readonly kind: 'preview' }

export const PREVIEW_SPEC = { kind: 'preview' } as const satisfies RenditionSpec
/** Name and preset of the HLS preview. */
export const PREVIEW_PRESET = 'preview'
const PLATFORMS = [...new Set([...Object.keys(VIDEO_PRESETS), ...Object.keys(IMAGE_PRESETS)])]
// `Object.keys` returns strings, not the type of its keys.
const PRESETS = [PREVIEW_PRESET, ...PLATFORMS] as [typeof PREVIEW_PRESET, ...(VideoPreset | ImagePreset)[]]
const CODECS = ['h264', 'aac', 'mp3', 'jpeg', 'png', 'webp'] as const
const number = (minimum: number, maximum: number, description: string) =>
  Type.Optional(Type.Number({ minimum, maximum, description }))
const integer = (minimum: number, maximum: number, description: string) =>
  Type.Optional(Type.Integer({ minimum, maximum, description }))

export const NewRendition = Input({
  preset: Type.Optional(
    OneOf(PRESETS, {
      description:
        'Settings that fit a platform. The other settings override those of the preset. `preview` makes an HLS preview of a video, 640 pixels wide, and takes no other settings',
    }),
  ),
  codec: Type.Optional(
    OneOf(CODECS, {
      description:
        'Output format. `h264` is MP4 with AAC audio, `aac` is the audio alone as M4A. Defaults to `h264` for videos and GIFs, `aac` for audio and `jpeg` for everything else',
    }),
  ),
  width: integer(16, 7680, 'Maximum width in pixels. The output is enlarged only if a preset requires it'),
  height: integer(16, 7680, 'Maximum height in pixels'),
  crop: Type.Optional(OneOf(['1:1', '4:5', '9:16', '16:9'], { description: 'Aspect ratio of the output' })),
  fit: Type.Optional(
    OneOf(['crop', 'pad'], {
      description: 'How to reach the aspect ratio: crop two sides (default), or pad with bars',
    }),
  ),
  trim: Type.Optional(
    Input(
      {
        from: number(0, 86_400, 'Start in seconds. Defaults to the beginning'),
        to: number(0, 86_400, 'End in seconds. Defaults to the end'),
      },
      { description: 'The part of the file to keep' },
    ),
  ),
  loudness: Type.Optional(
    Nullable(
      Type.Number({
        minimum: -40,
        maximum: -5,
        description: 'Target loudness in LUFS. Defaults to -14. Null leaves the loudness unchanged',
      }),
    ),
  ),
  fps: number(1, 120, 'Maximum frame rate, in frames per second'),
  crf: integer(10, 40, 'Constant rate factor of the video. Lower is better. Defaults to 21'),
  videoKbps: integer(50, 100_000, 'Maximum bitrate of the video track, in kbit/s'),
  audioKbps: integer(24, 512, 'Bitrate of the audio, in kbit/s'),
  mute: Type.Optional(Type.Boolean({ description: 'Remove the audio' })),
  quality: integer(1, 100, 'Quality of an image. Defaults to 82'),
  maxBytes: integer(
    10_000,
    64 * 2 ** 30,
    'Maximum size of the output in bytes. Quality and dimensions are lowered until it fits',
  ),
})
export type RenditionSettings = Static<typeof NewRendition>

type Kind = TranscodeSpec['kind']

const FRAMING = ['width', 'height', 'crop', 'fit', 'maxBytes'] as const
const TIMING = ['trim', 'loudness', 'audioKbps'] as const
/** The settings that apply to each kind of output, besides `preset` and `codec`. */
const APPLICABLE: Readonly<Record<Kind, readonly string[]>> = {
  video: [...FRAMING, ...TIMING, 'fps', 'crf', 'videoKbps', 'mute'],
  image: [...FRAMING, 'quality'],
  audio: [...TIMING, 'maxBytes'],
}
const LABELS: Readonly<Record<Kind, string>> = { video: 'a video', image: 'an image', audio: 'audio' }
const KIND_OF: Readonly<Record<(typeof CODECS)[number], Kind>> = {
  h264: 'video',
  aac: 'audio',
  mp3: 'audio',
  jpeg: 'image',
  png: 'image',
  webp: 'image',
}

/**
 * The specification of a rendition in canonical form: equivalent settings give equal specifications.
 * @throws AppError rendition_not_possible if the settings contradict each other or do not fit the file
 */
export function specOf(settings: RenditionSettings, source: Pick<SourceFacts, 'kind' | 'mime'>): RenditionSpec {
  const { codec, crop, height, preset, width, ...others } = settings
  if (preset === PREVIEW_PRESET) return previewSpec(settings, source.kind)
  const kind = codec === undefined ? kindFor(preset, source) : KIND_OF[codec]
  for (const name of Object.keys(settings)) {
    if (name !== 'preset' && name !== 'codec' && !APPLICABLE[kind].includes(name)) {
      throw RenditionNotPossible({ message: `The setting \`${name}\` does not apply to ${LABELS[kind]}.` })
    }
  }
  checkPreset(preset, kind)
  const { trim } = settings
  if (trim?.from !== undefined && trim.to !== undefined && trim.to <= trim.from) {
    throw RenditionNotPossible({ message: 'A trim must end after it begins: `to` must be greater than `from`.' })
  }
  const format = codec === undefined || codec === 'h264' ? undefined : codec === 'aac' ? 'm4a' : codec
  const spec = { kind, preset, format, aspect: crop, maxWidth: width, maxHeight: height, ...others }
  const given = Object.entries(spec).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given.sort(([a], [b]) => a.localeCompare(b))) as unknown as TranscodeSpec
}

function previewSpec(settings: RenditionSettings, kind: SourceFacts['kind']): RenditionSpec {
  const other = Object.keys(settings).find((name) => name !== 'preset')
  if (other !== undefined)
    throw RenditionNotPossible({ message: `The setting \`${other}\` does not apply to a preview.` })
  if (kind !== 'video') throw RenditionNotPossible({ message: 'Previews can be made only from videos.' })
  return PREVIEW_SPEC
}

/** The kind of output. A preset for both videos and images gives the kind of the file. A GIF counts as a video. */
function kindFor(preset: string | undefined, { kind, mime }: Pick<SourceFacts, 'kind' | 'mime'>): Kind {
  if (kind === 'audio') return 'audio'
  const isMoving = kind === 'video' || mime === 'image/gif'
  if (preset === undefined) return isMoving ? 'video' : 'image'
  if (isMoving && preset in VIDEO_PRESETS) return 'video'
  return kind !== 'video' && preset in IMAGE_PRESETS ? 'image' : isMoving ? 'video' : 'image'
}

function checkPreset(preset: string | undefined, kind: Kind): void {
  if (preset === undefined) return
  const known = kind === 'video' ? VIDEO_PRESETS : kind === 'image' ? IMAGE_PRESETS : {}
  if (preset in known) return
  const all = Object.keys(known).join(', ')
  const alternatives = all === '' ? 'There are no presets for audio.' : `Presets for ${LABELS[kind]}: ${all}.`
  throw RenditionNotPossible({ message: `The preset ${preset} cannot make ${LABELS[kind]}. ${alternatives}` })
}
