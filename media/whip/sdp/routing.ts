import { attribute, attributes } from './sections.ts'

/**
 * How packets are assigned to media and simulcast layers. All media share one transport (RFC 8843, section 9.2), and video
 * can have several layers (RFC 8853). `…Extension` is the id of an RTP header extension; null if it is not offered.
 */
export interface Routing {
  /** MID of the video; null without one. */
  readonly videoMid: string | null
  readonly audioMid: string | null
  readonly midExtension: number | null
  /** Carries the RID of a packet's layer (RFC 8852). */
  readonly ridExtension: number | null
  /** Carries the RID of a retransmission's layer. */
  readonly repairedRidExtension: number | null
  /** RIDs of the video layers. Empty without simulcast. */
  readonly layers: readonly string[]
}

const MID = 'urn:ietf:params:rtp-hdrext:sdes:mid'
const RID = 'urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id'
const REPAIRED_RID = 'urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id'
const MAX_LAYERS = 6

/** The `a=extmap` lines of the header extensions that {@link Routing} uses. */
export function extensionLines(section: readonly string[]): string[] {
  return attributes(section, 'extmap')
    .filter((value) => extensionId(value) !== null)
    .map((value) => `a=extmap:${value}`)
}

/**
 * The simulcast layers that a medium offers to send. Empty if simulcast is not offered, or if the packets cannot carry a RID.
 * The first of several alternatives is used (RFC 8853, section 5.1).
 */
export function layersOf(section: readonly string[]): string[] {
  if (idOf(section, RID) === null) return []
  const known = new Set(attributes(section, 'rid').flatMap((value) => /^([\w-]{1,32}) send\b/.exec(value)?.[1] ?? []))
  const offered = /(?:^| )send (\S+)/.exec(attribute(section, 'simulcast') ?? '')?.[1] ?? ''
  const layers = offered.split(';').map((alternatives) => alternatives.split(',')[0]!.replace(/^~/, ''))
  const named = [...new Set(layers.filter((layer) => known.has(layer)))]
  return named.length <= MAX_LAYERS ? named : []
}

/** Builds the routing from the accepted sections. `null`: the offer has no accepted video or audio. */
export function routingOf(video: readonly string[] | null, audio: readonly string[] | null): Routing {
  const both = [...(video ?? []), ...(audio ?? [])]
  return {
    videoMid: (video && attribute(video, 'mid')) ?? null,
    audioMid: (audio && attribute(audio, 'mid')) ?? null,
    midExtension: idOf(both, MID),
    ridExtension: video && idOf(video, RID),
    repairedRidExtension: video && idOf(video, REPAIRED_RID),
    layers: video === null ? [] : layersOf(video),
  }
}

function idOf(section: readonly string[], uri: string): number | null {
  const found = attributes(section, 'extmap').find((value) => value.split(' ')[1] === uri)
  return found === undefined ? null : extensionId(found)
}

/** The id of an extension that we use; null for other extensions. */
function extensionId(value: string): number | null {
  const [, id, uri = ''] = /^(\d{1,3})(?:\/(?:sendonly|sendrecv))? (\S+)$/.exec(value) ?? []
  return [MID, RID, REPAIRED_RID].includes(uri) ? Number(id) : null
}
