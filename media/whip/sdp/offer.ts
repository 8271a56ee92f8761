import { chooseAudio, chooseVideo, type ChosenCodec } from './codecs.ts'
import { extensionLines, layersOf, routingOf, type Routing } from './routing.ts'
import { attribute, attributes, joinSections, mediaLine, splitSections } from './sections.ts'

/** An offer that cannot be taken. */
export class OfferError extends Error {
  override readonly name = 'OfferError'
  /** `malformed`: it is no offer of a WHIP client; `unusable`: nothing in it that we can take. */
  readonly code: 'malformed' | 'unusable'

  constructor(code: OfferError['code'], message: string) {
    super(message)
    this.code = code
  }
}

/** What a client is here for. */
export type Purpose = 'publish' | 'watch'

/** A medium of an offer. */
export interface OfferedMedium {
  readonly mid: string | undefined
  /** Null: not taken. */
  readonly codec: ChosenCodec | null
  /** Its `m=` line. */
  readonly line: string
  /** What of it is taken, without transport; empty where it is not taken. */
  readonly kept: readonly string[]
}

export interface FilteredOffer {
  readonly purpose: Purpose
  /**
   * What the WebRTC library gets to see. Of a publisher's media only the first: the library hands over every packet then,
   * where it would drop those of a source that the offer does not name (`a=ssrc`). Packets are told apart by `routing`.
   */
  readonly sdp: string
  readonly routing: Routing
  /** Every medium of the offer, in its order: an answer must have as many. */
  readonly media: readonly OfferedMedium[]
  readonly video: ChosenCodec<'h264' | 'vp8'> | null
  readonly audio: ChosenCodec<'opus'> | null
  /** The client's ICE user name: it tells trickled candidates from a restart. */
  readonly ufrag: string
}

/** No control characters: what is passed on goes into native code. */
const LINE = /^[a-z]=\P{Cc}{0,4096}$/u
const MOST_LINES = 2_000
const MOST_MEDIA = 16
const PROTOCOLS = new Set(['UDP/TLS/RTP/SAVPF', 'UDP/TLS/RTP/SAVP'])
/** Passed on where they stand; everything that is not named here or rebuilt below is left out. */
const KEPT = ['ice-ufrag', 'ice-pwd', 'fingerprint', 'setup']
const FEEDBACK = new Set(['nack', 'nack pli', 'ccm fir', 'goog-remb'])
const TOKEN = /^[\w!#$%&'*+.^`{|}~-]{1,64}$/

/**
 * Cuts an offer down to what we take before native code reads it: one video codec with its retransmissions, Opus, no
 * header extensions but the names of medium and layer, and no candidate, so that nothing is ever sent to an address of the client's
 * choosing: its own checks show where it is. Further media are not taken.
 * @throws OfferError
 */
export function filterOffer(text: string, purpose: Purpose = 'publish'): FilteredOffer {
  const { session, media } = splitSections(text)
  const lines = media.flat().length + session.length
  if (session[0] !== 'v=0' || lines > MOST_LINES || [...session, ...media.flat()].some((line) => !LINE.test(line))) {
    throw new OfferError('malformed', 'The body is no session description.')
  }
  if (media.length === 0 || media.length > MOST_MEDIA) {
    throw new OfferError('malformed', `The offer has ${media.length} media.`)
  }
  let video: FilteredOffer['video'] = null
  let audio: FilteredOffer['audio'] = null
  const chosen = media.map((section): { section: readonly string[]; medium: OfferedMedium } => {
    let codec: ChosenCodec | null = null
    if (video === null && isOffered(section, 'video', purpose)) video = codec = chooseVideo(section)
    else if (audio === null && isOffered(section, 'audio', purpose)) audio = codec = chooseAudio(section)
    const kept = codec === null ? [] : keepSection(section, codec, purpose)
    return { section, medium: { mid: midOf(section), codec, line: section[0]!, kept } }
  })
  requireCodec(media, purpose, 'video', video, 'H.264 (packetization mode 1) or VP8')
  requireCodec(media, purpose, 'audio', audio, 'Opus')
  const taken = chosen.filter(({ medium }) => medium.codec !== null)
  if (taken.length === 0) throw new OfferError('unusable', 'The offer has neither video nor audio.')
  const shown = purpose === 'publish' ? taken.slice(0, 1) : taken
  const kept = shown.map(({ section, medium }) => withTransport(section, medium.kept))
  const mids = shown.flatMap(({ medium }) => medium.mid ?? [])
  const keptOf = (codec: ChosenCodec | null) => taken.find(({ medium }) => medium.codec === codec)?.medium.kept ?? null
  const head = [
    'v=0',
    session.find((line) => /^o=\S+ \d+ \d+ IN IP[46] \S+$/.test(line)) ?? 'o=- 1 1 IN IP4 0.0.0.0',
    's=-',
    't=0 0',
    ...(mids.length === shown.length ? [`a=group:BUNDLE ${mids.join(' ')}`] : []),
    ...keepAttributes(session),
  ]
  const { ufrag } = checkTransport([...session, ...taken.flatMap(({ section }) => section)])
  return {
    purpose,
    sdp: joinSections({ session: head, media: kept }),
    routing: routingOf(keptOf(video), keptOf(audio)),
    media: chosen.map(({ medium }) => medium),
    video,
    audio,
    ufrag,
  }
}

/** Whether the client sends it, or takes it, over a transport that we have. */
function isOffered(section: readonly string[], kind: string, purpose: Purpose): boolean {
  const { kind: found, port, protocol } = mediaLine(section)
  const refused = port === '0' && attribute(section, 'bundle-only') === undefined
  const other = purpose === 'publish' ? 'a=recvonly' : 'a=sendonly'
  const silent = section.some((line) => line === other || line === 'a=inactive')
  return found === kind && !refused && !silent && PROTOCOLS.has(protocol)
}

function requireCodec(
  media: readonly (readonly string[])[],
  purpose: Purpose,
  kind: 'video' | 'audio',
  codec: ChosenCodec | null,
  what: string,
): void {
  if (codec !== null || !media.some((section) => isOffered(section, kind, purpose))) return
  throw new OfferError('unusable', `The offer has no ${kind} codec that is taken here: send ${what}.`)
}

/** @throws OfferError */
function checkTransport(lines: readonly string[]): { ufrag: string } {
  const ufrag = attribute(lines, 'ice-ufrag') ?? ''
  const password = attribute(lines, 'ice-pwd') ?? ''
  const fingerprint = attribute(lines, 'fingerprint') ?? ''
  // RFC 8839, section 5.4; RFC 8122, section 5.
  const isWhole =
    /^[\w+/=-]{4,256}$/.test(ufrag) &&
    /^[\w+/=-]{22,256}$/.test(password) &&
    /^sha-\d{1,3} [0-9a-f]{2}(:[0-9a-f]{2}){15,63}$/i.test(fingerprint)
  if (!isWhole) throw new OfferError('malformed', 'The offer has no ICE credentials, or no fingerprint.')
  return { ufrag }
}

function keepSection(section: readonly string[], codec: ChosenCodec, purpose: Purpose): string[] {
  const { kind } = mediaLine(section)
  const types = [codec.payloadType, ...(codec.rtxPayloadType === null ? [] : [codec.rtxPayloadType])].map(String)
  const ofTypes = (name: string) =>
    attributes(section, name)
      .filter((value) => types.includes(value.split(' ', 1)[0]!))
      .map((value) => `a=${name}:${value}`)
  const mid = midOf(section)
  return [
    `m=${kind} 9 UDP/TLS/RTP/SAVPF ${types.join(' ')}`,
    'c=IN IP4 0.0.0.0',
    ...(mid === undefined ? [] : [`a=mid:${mid}`]),
    ...extensionLines(section),
    purpose === 'publish' ? 'a=sendonly' : 'a=recvonly',
    'a=rtcp-mux',
    ...ofTypes('rtpmap'),
    ...ofTypes('rtcp-fb').filter((line) => FEEDBACK.has(line.slice(line.indexOf(' ') + 1))),
    ...ofTypes('fmtp'),
    ...attributes(section, 'ssrc-group')
      .filter((value) => /^FID( \d{1,10}){2}$/.test(value))
      .map((value) => `a=ssrc-group:${value}`),
    ...attributes(section, 'ssrc')
      .filter((value) => /^\d{1,10} cname:\S{1,256}$/.test(value))
      .map((value) => `a=ssrc:${value}`),
    ...(purpose === 'publish' ? simulcastLines(layersOf(section), 'send') : []),
  ]
}

/** A medium as the library gets to see it. Layers are our own business. */
function withTransport(section: readonly string[], kept: readonly string[]): string[] {
  const [media = '', connection = '', ...rest] = kept
  const seen = rest.filter((line) => !/^a=(rid|simulcast):/.test(line))
  return [media, connection, ...keepAttributes(section), ...seen]
}

/** Lines that name the layers of a medium (RFC 8851, RFC 8853); none for none. */
export function simulcastLines(layers: readonly string[], direction: 'send' | 'recv'): string[] {
  if (layers.length === 0) return []
  return [...layers.map((layer) => `a=rid:${layer} ${direction}`), `a=simulcast:${direction} ${layers.join(';')}`]
}

function keepAttributes(lines: readonly string[]): string[] {
  return KEPT.flatMap((name) => attributes(lines, name).map((value) => `a=${name}:${value}`))
}

function midOf(section: readonly string[]): string | undefined {
  const mid = attribute(section, 'mid')
  return mid !== undefined && TOKEN.test(mid) ? mid : undefined
}
