import { attributes, mediaLine } from './sections.ts'

/** The codec chosen for the video or the audio of a client. */
export interface ChosenCodec<Name extends string = 'h264' | 'vp8' | 'opus'> {
  readonly name: Name
  readonly payloadType: number
  /** Payload type of its RTX retransmissions; null without RTX. */
  readonly rtxPayloadType: number | null
  /** NAL units from `sprop-parameter-sets`. */
  readonly parameterSets: readonly Buffer[]
}

interface Format {
  readonly payloadType: number
  /** In lower case, for example `h264/90000`. */
  readonly encoding: string
  readonly parameters: ReadonlyMap<string, string>
}

/** Chooses H.264, preferring packetization mode 1 and the simplest profile, or else VP8. Null if neither is offered. */
export function chooseVideo(section: readonly string[]): ChosenCodec<'h264' | 'vp8'> | null {
  const formats = formatsOf(section)
  const h264 = formats
    .filter(({ encoding }) => encoding === 'h264/90000')
    .map((format) => ({ format, rank: rankOf(format) }))
    .sort((a, b) => a.rank - b.rank)[0]?.format
  const format = h264 ?? formats.find(({ encoding }) => encoding === 'vp8/90000')
  if (format === undefined) return null
  const { payloadType } = format
  const rtx = formats.find(
    ({ encoding, parameters }) => encoding === 'rtx/90000' && Number(parameters.get('apt')) === payloadType,
  )
  return {
    name: h264 === undefined ? 'vp8' : 'h264',
    payloadType,
    rtxPayloadType: rtx?.payloadType ?? null,
    parameterSets: parameterSetsOf(format),
  }
}

export function chooseAudio(section: readonly string[]): ChosenCodec<'opus'> | null {
  const opus = formatsOf(section).find(({ encoding }) => /^opus\/48000(\/|$)/.test(encoding))
  return opus ? { name: 'opus', payloadType: opus.payloadType, rtxPayloadType: null, parameterSets: [] } : null
}

function formatsOf(section: readonly string[]): Format[] {
  const fmtp = pairs(attributes(section, 'fmtp'))
  const rtpmap = pairs(attributes(section, 'rtpmap'))
  return mediaLine(section).formats.flatMap((text) => {
    const payloadType = Number(text)
    const encoding = rtpmap.get(text)
    if (encoding === undefined || !/^\d{1,3}$/.test(text) || payloadType > 127) return []
    return [{ payloadType, encoding: encoding.toLowerCase(), parameters: parametersOf(fmtp.get(text) ?? '') }]
  })
}

/** Maps payload types to values: `96 VP8/90000` to 96 → VP8/90000. The first value per payload type counts. */
function pairs(values: readonly string[]): Map<string, string> {
  const map = new Map<string, string>()
  for (const value of values) {
    const space = value.indexOf(' ')
    const key = value.slice(0, Math.max(space, 0))
    if (key !== '' && !map.has(key)) map.set(key, value.slice(space + 1).trim())
  }
  return map
}

function parametersOf(text: string): Map<string, string> {
  return new Map(
    text.split(';').flatMap((part): [string, string][] => {
      const [name = '', ...value] = part.trim().split('=')
      return name === '' ? [] : [[name.toLowerCase(), value.join('=')]]
    }),
  )
}

/** Lower is better. The simplest profiles play everywhere. Packetization mode 0 cannot carry large frames. */
function rankOf({ parameters }: Format): number {
  const profile = (parameters.get('profile-level-id') ?? '420010').toLowerCase()
  const rank = ['42e0', '4200', '4d00'].indexOf(profile.slice(0, 4))
  return (parameters.get('packetization-mode') === '1' ? 0 : 10) + (rank < 0 ? 3 : rank)
}

function parameterSetsOf({ parameters }: Format): Buffer[] {
  const text = parameters.get('sprop-parameter-sets') ?? ''
  return text
    .split(',')
    .map((part) => Buffer.from(part.trim(), 'base64'))
    .filter((nal) => nal.length >= 2 && nal.length <= 1_024)
}
