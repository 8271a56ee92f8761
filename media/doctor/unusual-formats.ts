import type { WarningCode } from '../types.ts'
import type { PixelFormat } from './media-format.ts'

const MAX_CHANNELS = 2
/** chroma_format_idc of 4:2:0, the only one that platforms accept. */
const CHROMA_420 = 1
const CHROMA_NAMES = ['4:0:0', '4:2:0', '4:2:2', '4:4:4']
const CHANNEL_LAYOUTS: Readonly<Record<number, string | undefined>> = { 6: ' (5.1)', 8: ' (7.1)' }

/** Properties of the sequence headers; null when unknown or not received. */
export interface MediaFormat {
  readonly videoCodec: string | null
  readonly pixelFormat: PixelFormat | null
  readonly channels: number | null
}

/** Finds properties that the codec allows but platforms do not accept. */
export function unusualFormats({
  channels,
  pixelFormat,
  videoCodec,
}: MediaFormat): { code: WarningCode; message: string }[] {
  const found: { code: WarningCode; message: string }[] = []
  const { bitDepth, chroma } = pixelFormat ?? { bitDepth: 8, chroma: CHROMA_420 }
  const advice = 'Set the color format of the encoder to NV12 or I420.'
  if (chroma !== CHROMA_420) {
    const message = `The video is ${CHROMA_NAMES[chroma]}. Platforms accept 4:2:0. ${advice}`
    found.push({ code: 'pixel_format', message })
  } else if (bitDepth > 8 && videoCodec === 'h264') {
    const message = `The video is ${bitDepth}-bit H.264. Platforms accept 8-bit. ${advice}`
    found.push({ code: 'pixel_format', message })
  }
  if (channels !== null && channels > MAX_CHANNELS) {
    const layout = CHANNEL_LAYOUTS[channels] ?? ''
    const message = `The audio has ${channels} channels${layout}. Many platforms accept only mono and stereo. Set the encoder to stereo.`
    found.push({ code: 'audio_channels', message })
  }
  return found
}
