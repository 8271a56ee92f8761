import type { WarningCode } from '../types.ts'
import type { PixelFormat } from './media-format.ts'

const MOST_CHANNELS = 2
/** chroma_format_idc of 4:2:0, which is all that platforms take, and the names of all. */
const CHROMA_420 = 1
const CHROMA_NAMES = ['4:0:0', '4:2:0', '4:2:2', '4:4:4']
const CHANNEL_NAMES: Readonly<Record<number, string | undefined>> = { 6: '5.1', 8: '7.1' }

/** What the configurations of a publisher say; null where they do not say, or have not come. */
export interface MediaForm {
  readonly videoCodec: string | null
  readonly pixelFormat: PixelFormat | null
  readonly channels: number | null
}

/** What a codec allows and platforms do not take, in words. */
export function unusualForms({
  channels,
  pixelFormat,
  videoCodec,
}: MediaForm): { code: WarningCode; message: string }[] {
  const found: { code: WarningCode; message: string }[] = []
  const { bitDepth, chroma } = pixelFormat ?? { bitDepth: 8, chroma: CHROMA_420 }
  const advice = 'Set the encoder to NV12 or I420.'
  if (chroma !== CHROMA_420) {
    const message = `The picture is ${CHROMA_NAMES[chroma]}; platforms take 4:2:0. ${advice}`
    found.push({ code: 'pixel_format', message })
  } else if (bitDepth > 8 && videoCodec === 'h264') {
    const message = `The picture is H.264 with ${bitDepth} bits; platforms take 8. ${advice}`
    found.push({ code: 'pixel_format', message })
  }
  if (channels !== null && channels > MOST_CHANNELS) {
    const name = CHANNEL_NAMES[channels] ?? `of ${channels} channels`
    const message = `The sound is ${name}; many platforms take mono and stereo only. Set the encoder to stereo.`
    found.push({ code: 'audio_channels', message })
  }
  return found
}
