import { attribute, attributes } from './sections.ts'

/**
 * How the packets of a publisher are told apart: one transport carries all media (RFC 8843, section 9.2), and video may
 * come in several layers (simulcast, RFC 8853). Ids are those of RTP header extensions; null where the offer has none.
 */
export interface Routing {
  /** Name of the video medium; null where it has none. */
  readonly videoMid: string | null
  readonly audioMid: string | null
  readonly midExtension: number | null
  /** Of the layer that a packet belongs to (RFC 8852). */
  readonly ridExtension: number | null
  /** Of the layer that a retransmission belongs to. */
  readonly repairedRidExtension: number | null
  /** Layers of the video, as the offer names them. Empty where it comes in one. */
  readonly layers: readonly string[]
}

const MID = 'urn:ietf:params:rtp-hdrext:sdes:mid'
const RID = 'urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id'
const REPAIRED_RID = 'urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id'
const MOST_LAYERS = 6

/** Lines of the header extensions that packets are told apart by. */
export function extensionLines(section: readonly string[]): string[] {
  return attributes(section, 'extmap')
    .filter((value) => extensionId(value) !== null)
    .map((value) => `a=extmap:${value}`)
}

/**
 * The layers that a medium offers to send; empty where it does not offer simulcast, or could not mark its packets. Of
 * alternatives the first counts (RFC 8853, section 5.1).
 */
export function layersOf(section: readonly string[]): string[] {
  if (idOf(section, RID) === null) return []
  const known = new Set(attributes(section, 'rid').flatMap((value) => /^([\w-]{1,32}) send\b/.exec(value)?.[1] ?? []))
  const offered = /(?:^| )send (\S+)/.exec(attribute(section, 'simulcast') ?? '')?.[1] ?? ''
  const layers = offered.split(';').map((alternatives) => alternatives.split(',')[0]!.replace(/^~/, ''))
  const named = [...new Set(layers.filter((layer) => known.has(layer)))]
  return named.length <= MOST_LAYERS ? named : []
}

/** Takes the sections of an offer that are taken; null for a kind that is not. */
export function routingOf(video: readonly string[] | null, audio: readonly string[] | null): Routing {
  const either = [...(video ?? []), ...(audio ?? [])]
  return {
    videoMid: (video && attribute(video, 'mid')) ?? null,
    audioMid: (audio && attribute(audio, 'mid')) ?? null,
    midExtension: idOf(either, MID),
    ridExtension: video && idOf(video, RID),
    repairedRidExtension: video && idOf(video, REPAIRED_RID),
    layers: video === null ? [] : layersOf(video),
  }
}

function idOf(section: readonly string[], uri: string): number | null {
  const found = attributes(section, 'extmap').find((value) => value.split(' ')[1] === uri)
  return found === undefined ? null : extensionId(found)
}

/** The id of an extension that we read; null for others. */
function extensionId(value: string): number | null {
  const [, id, uri = ''] = /^(\d{1,3})(?:\/(?:sendonly|sendrecv))? (\S+)$/.exec(value) ?? []
  return [MID, RID, REPAIRED_RID].includes(uri) ? Number(id) : null
}
