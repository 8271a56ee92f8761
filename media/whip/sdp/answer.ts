import { simulcastLines, type FilteredOffer, type OfferedMedium } from './offer.ts'
import { layersOf } from './routing.ts'
import { attribute, joinSections, mediaLine, splitSections } from './sections.ts'

/** The public address and UDP port that answers contain. */
export interface AnnouncedAddress {
  readonly address: string
  readonly port: number
}

/** Start bitrate for browsers, kbit/s. Their default is 300, with a small video size. */
const START_KILOBITS = 2_500

/** Transport attributes. All media share one transport. */
const TRANSPORT = /^a=(setup|ice-ufrag|ice-pwd|ice-options|fingerprint|candidate|end-of-candidates)\b/

/**
 * Completes the library's answer, which covers only a part of the offer. Rejected media get port 0 (RFC 3264, section 6).
 * Accepted media that the library did not see are answered as offered. Candidates get the announced address, and video gets
 * a start bitrate.
 */
export function completeAnswer(answer: string, offer: FilteredOffer, announced: AnnouncedAddress | null): string {
  const { session, media } = splitSections(answer)
  const accepted = offer.media.filter(({ codec }) => codec !== null)
  const answered = offer.purpose === 'publish' ? answerMedia(accepted, media[0] ?? []) : media
  const sections = answered[Symbol.iterator]()
  const complete = offer.media.map(({ codec, line, mid }): readonly string[] => {
    if (codec === null) return rejectedMedium(line, mid)
    const section = sections.next().value ?? []
    const addressed = announced === null ? section : withAddress(section, announced)
    return codec.name === 'opus' ? addressed : withStartBitrate(addressed, codec.payloadType)
  })
  return joinSections({ session: session.map((line) => withBundleGroup(line, accepted)), media: complete })
}

/** Answers each accepted medium as offered, with the transport from the only section that the library answered. */
function answerMedia(accepted: readonly OfferedMedium[], answered: readonly string[]): string[][] {
  const transport = answered.filter((line) => TRANSPORT.test(line))
  const credentials = transport.filter((line) => !/candidate/.test(line))
  return accepted.map(({ kept }, index) => [
    ...kept.flatMap((line) => {
      if (/^a=(ssrc|ssrc-group|rid|simulcast):/.test(line)) return []
      // Parameter sets describe what the sender sends, so an answer does not contain them (RFC 6184, section 8.2.2).
      if (line.startsWith('a=fmtp:')) return line.replace(/;?sprop-parameter-sets=[^;]*/, '')
      return line === 'a=sendonly' ? 'a=recvonly' : line
    }),
    ...simulcastLines(layersOf(kept), 'recv'),
    // The candidates are in the first section of the bundle.
    ...(index === 0 ? transport : credentials),
  ])
}

function withBundleGroup(line: string, accepted: readonly OfferedMedium[]): string {
  if (!line.startsWith('a=group:BUNDLE')) return line
  return `a=group:BUNDLE ${accepted.flatMap(({ mid }) => mid ?? []).join(' ')}`
}

function rejectedMedium(line: string, mid: string | undefined): string[] {
  const { kind, protocol, formats } = mediaLine([line])
  return [
    `m=${kind} 0 ${protocol} ${formats.join(' ')}`,
    'c=IN IP4 0.0.0.0',
    ...(mid === undefined ? [] : [`a=mid:${mid}`]),
    'a=inactive',
  ]
}

/** Replaces all candidates by one with the announced address, for servers behind NAT or in a container. */
function withAddress(section: readonly string[], { address, port }: AnnouncedAddress): string[] {
  const first = section.findIndex((line) => line.startsWith('a=candidate:'))
  return section.flatMap((line, index) => {
    if (!line.startsWith('a=candidate:')) return [line]
    return index === first ? [`a=candidate:1 1 UDP 2122317823 ${address} ${port} typ host`] : []
  })
}

function withStartBitrate(section: readonly string[], payloadType: number): string[] {
  const parameter = `x-google-start-bitrate=${START_KILOBITS}`
  const prefix = `a=fmtp:${payloadType} `
  if (section.some((line) => line.startsWith(prefix))) {
    return section.map((line) => (line.startsWith(prefix) ? `${line};${parameter}` : line))
  }
  const map = section.findIndex((line) => line.startsWith(`a=rtpmap:${payloadType} `))
  return [...section.slice(0, map + 1), `${prefix}${parameter}`, ...section.slice(map + 1)]
}

/** Whether a text has the form of an SDP fragment (RFC 8840): one or more SDP lines. */
export function isFragment(text: string): boolean {
  const { session, media } = splitSections(text)
  const lines = [...session, ...media.flat()]
  return lines.length > 0 && lines.every((line) => /^[a-z]=/.test(line))
}

/** The ICE username fragment (ufrag) in an SDP fragment (RFC 8840); undefined if it has none. */
export function fragmentUfrag(fragment: string): string | undefined {
  const { session, media } = splitSections(fragment)
  return attribute([...session, ...media.flat()], 'ice-ufrag')
}
