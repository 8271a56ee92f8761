import { simulcastLines, type FilteredOffer, type OfferedMedium } from './offer.ts'
import { layersOf } from './routing.ts'
import { attribute, joinSections, mediaLine, splitSections } from './sections.ts'

/** Where clients are told to send. */
export interface Announced {
  readonly address: string
  readonly port: number
}

/** Kilobits a second that a browser begins with; by itself it begins at 300, with a small picture. */
const START_KILOBITS = 2_500

/** Lines of the transport, which all media have in common. */
const TRANSPORT = /^a=(setup|ice-ufrag|ice-pwd|ice-options|fingerprint|candidate|end-of-candidates)\b/

/**
 * Makes the library's answer one to the whole offer: media that are not taken are refused in their place (RFC 3264,
 * section 6), those that the library was not shown are answered with what was offered, candidates name the announced
 * address, and video begins at a decent bitrate.
 */
export function completeAnswer(answer: string, offer: FilteredOffer, announced: Announced | null): string {
  const { session, media } = splitSections(answer)
  const taken = offer.media.filter(({ codec }) => codec !== null)
  const answered = offer.purpose === 'publish' ? mirrored(taken, media[0] ?? []) : media
  const next = answered[Symbol.iterator]()
  const complete = offer.media.map(({ codec, line, mid }): readonly string[] => {
    if (codec === null) return refused(line, mid)
    const section = next.next().value ?? []
    const own = announced === null ? section : withAddress(section, announced)
    return codec.name === 'opus' ? own : withStartBitrate(own, codec.payloadType)
  })
  return joinSections({ session: session.map((line) => bundled(line, taken)), media: complete })
}

/** What was offered as what is received, over the transport of the one medium that the library has answered. */
function mirrored(taken: readonly OfferedMedium[], answered: readonly string[]): string[][] {
  const transport = answered.filter((line) => TRANSPORT.test(line))
  const credentials = transport.filter((line) => !/candidate/.test(line))
  return taken.map(({ kept }, index) => [
    ...kept.flatMap((line) => {
      if (/^a=(ssrc|ssrc-group|rid|simulcast):/.test(line)) return []
      // Parameter sets are what the sender sends: they are no part of an answer (RFC 6184, section 8.2.2).
      return line === 'a=sendonly' ? 'a=recvonly' : line.replace(/(?<=^a=fmtp:.*);?sprop-parameter-sets=[^;]*/, '')
    }),
    ...simulcastLines(layersOf(kept), 'recv'),
    // The first medium carries the candidates for all.
    ...(index === 0 ? transport : credentials),
  ])
}

function bundled(line: string, taken: readonly OfferedMedium[]): string {
  if (!line.startsWith('a=group:BUNDLE')) return line
  return `a=group:BUNDLE ${taken.flatMap(({ mid }) => mid ?? []).join(' ')}`
}

function refused(line: string, mid: string | undefined): string[] {
  const { kind, protocol, formats } = mediaLine([line])
  return [
    `m=${kind} 0 ${protocol} ${formats.join(' ')}`,
    'c=IN IP4 0.0.0.0',
    ...(mid === undefined ? [] : [`a=mid:${mid}`]),
    'a=inactive',
  ]
}

/** One candidate in the place of all: whoever is behind NAT or in a container is reached at one address. */
function withAddress(section: readonly string[], { address, port }: Announced): string[] {
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

/** Whether a text has the form of one (RFC 8840): lines of SDP, at least one. */
export function isFragment(text: string): boolean {
  const { session, media } = splitSections(text)
  const lines = [...session, ...media.flat()]
  return lines.length > 0 && lines.every((line) => /^[a-z]=/.test(line))
}

/** The ICE user name of a trickled fragment (RFC 8840); undefined where it has none. */
export function fragmentUfrag(fragment: string): string | undefined {
  const { session, media } = splitSections(fragment)
  return attribute([...session, ...media.flat()], 'ice-ufrag')
}
