import {
  IMAGE_PRESETS,
  mostPreviewBytes,
  VIDEO_PRESETS,
  type ImagePreset,
  type VideoPreset,
} from '../../../../media/work/transcode/presets.ts'
import type { SourceFacts } from '../../../../media/work/transcode/fitness.ts'
import type { TranscodeSpec } from '../../../../media/work/transcode/spec.ts'
import { Input, Nullable, OneOf, Type, type Static } from '../../../core/schema.ts'
import { RenditionNotPossible } from './errors.ts'

export { mostPreviewBytes }

/** What a rendition is made by; a preview has no settings. */
export type RenditionSpec = TranscodeSpec | { readonly kind: 'preview' }

export const PREVIEW_SPEC = { kind: 'preview' } as const satisfies RenditionSpec
/** Name and preset of the HLS preview. */
export const PREVIEW_PRESET = 'preview'
const PLATFORMS = [...new Set([...Object.keys(VIDEO_PRESETS), ...Object.keys(IMAGE_PRESETS)])]
// What `Object.keys` says of its keys is that they are strings.
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
        'What a platform takes; the other settings stand over it. `preview` is HLS to look through a video, 640 pixels wide, without other settings',
    }),
  ),
  codec: Type.Optional(
    OneOf(CODECS, {
      description:
        'What is made: `h264` is MP4 with AAC, `aac` the sound alone as M4A. When absent, H.264 of videos and GIFs, AAC of sound, JPEG of everything else',
    }),
  ),
  width: integer(16, 7680, 'Pixels, the most; nothing is enlarged unless a preset needs it'),
  height: integer(16, 7680, 'Pixels, the most'),
  crop: Type.Optional(OneOf(['1:1', '4:5', '9:16', '16:9'], { description: 'The shape' })),
  fit: Type.Optional(OneOf(['crop', 'pad'], { description: 'Cut off on both sides (when absent), or bars' })),
  trim: Type.Optional(
    Input(
      { from: number(0, 86_400, 'When absent, the beginning'), to: number(0, 86_400, 'When absent, the end') },
      { description: 'The part that is kept, in seconds' },
    ),
  ),
  loudness: Type.Optional(
    Nullable(Type.Number({ minimum: -40, maximum: -5, description: 'LUFS; -14 when absent, null leaves it as it is' })),
  ),
  fps: number(1, 120, 'Frames a second, the most'),
  crf: integer(10, 40, 'Quality of a video, from the best; 21 when absent'),
  videoKbps: integer(50, 100_000, 'The most that the picture of a video takes at any time'),
  audioKbps: integer(24, 512, 'Of the sound'),
  mute: Type.Optional(Type.Boolean({ description: 'Without sound' })),
  quality: integer(1, 100, 'Quality of a picture; 82 when absent'),
  maxBytes: integer(10_000, 64 * 2 ** 30, 'Quality and size are lowered until it fits'),
})
export type RenditionSettings = Static<typeof NewRendition>

type Kind = TranscodeSpec['kind']

const FRAMING = ['width', 'height', 'crop', 'fit', 'maxBytes'] as const
const TIMING = ['trim', 'loudness', 'audioKbps'] as const
/** What can be set for what is made; `preset` and `codec` aside. */
const MEANINGFUL: Readonly<Record<Kind, readonly string[]>> = {
  video: [...FRAMING, ...TIMING, 'fps', 'crf', 'videoKbps', 'mute'],
  image: [...FRAMING, 'quality'],
  audio: [...TIMING, 'maxBytes'],
}
const WORDS: Readonly<Record<Kind, string>> = { video: 'a video', image: 'a picture', audio: 'sound' }
const KIND_OF: Readonly<Record<(typeof CODECS)[number], Kind>> = {
  h264: 'video',
  aac: 'audio',
  mp3: 'audio',
  jpeg: 'image',
  png: 'image',
  webp: 'image',
}

/**
 * What media work is asked for, in one spelling: settings that mean the same give the same.
 * @throws AppError rendition_not_possible, for settings that contradict each other or the file
 */
export function specOf(settings: RenditionSettings, source: Pick<SourceFacts, 'kind' | 'mime'>): RenditionSpec {
  const { codec, crop, height, preset, width, ...others } = settings
  if (preset === PREVIEW_PRESET) return previewSpec(settings, source.kind)
  const kind = codec === undefined ? kindFor(preset, source) : KIND_OF[codec]
  for (const name of Object.keys(settings)) {
    if (name !== 'preset' && name !== 'codec' && !MEANINGFUL[kind].includes(name)) {
      throw RenditionNotPossible({ message: `\`${name}\` means nothing for ${WORDS[kind]}.` })
    }
  }
  checkPreset(preset, kind)
  const { trim } = settings
  if (trim?.from !== undefined && trim.to !== undefined && trim.to <= trim.from) {
    throw RenditionNotPossible({ message: 'A trim ends after it begins: `to` is more than `from`.' })
  }
  const format = codec === undefined || codec === 'h264' ? undefined : codec === 'aac' ? 'm4a' : codec
  const spec = { kind, preset, format, aspect: crop, maxWidth: width, maxHeight: height, ...others }
  const given = Object.entries(spec).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given.sort(([a], [b]) => a.localeCompare(b))) as unknown as TranscodeSpec
}

function previewSpec(settings: RenditionSettings, kind: SourceFacts['kind']): RenditionSpec {
  const other = Object.keys(settings).find((name) => name !== 'preset')
  if (other !== undefined) throw RenditionNotPossible({ message: `\`${other}\` means nothing for a preview.` })
  if (kind !== 'video') throw RenditionNotPossible({ message: 'A preview is made of videos.' })
  return PREVIEW_SPEC
}

/** A preset makes what the file is, where it can make both; a GIF is a video here. */
function kindFor(preset: string | undefined, { kind, mime }: Pick<SourceFacts, 'kind' | 'mime'>): Kind {
  if (kind === 'audio') return 'audio'
  const moves = kind === 'video' || mime === 'image/gif'
  if (preset === undefined) return moves ? 'video' : 'image'
  if (moves && preset in VIDEO_PRESETS) return 'video'
  return kind !== 'video' && preset in IMAGE_PRESETS ? 'image' : moves ? 'video' : 'image'
}

function checkPreset(preset: string | undefined, kind: Kind): void {
  if (preset === undefined) return
  const known = kind === 'video' ? VIDEO_PRESETS : kind === 'image' ? IMAGE_PRESETS : {}
  if (preset in known) return
  const all = Object.keys(known).join(', ')
  const words = all === '' ? 'Sound has no presets.' : `For ${WORDS[kind]} there are: ${all}.`
  throw RenditionNotPossible({ message: `The preset ${preset} does not make ${WORDS[kind]}. ${words}` })
}
