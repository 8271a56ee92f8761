import { chooseAudio, chooseVideo, type ChosenCodec } from './codecs.ts'
import { extensionLines, layersOf, routingOf, type Routing } from './routing.ts'
import { attribute, attributes, joinSections, mediaLine, splitSections } from './sections.ts'

/** An offer that cannot be accepted. */
export class OfferError extends Error {
  override readonly name = 'OfferError'
  /** `malformed`: it is not a valid offer. `unusable`: it has no codec or medium that we support. */
  readonly code: 'malformed' | 'unusable'

  constructor(code: OfferError['code'], message: string) {
    super(message)
    this.code = code
  }
}

/** Whether a client publishes (WHIP) or watches (WHEP). */
export type Purpose = 'publish' | 'watch'

/** A media section of an offer. */
export interface OfferedMedium {
  readonly mid: string | undefined
  /** Null if the medium is rejected. */
  readonly codec: ChosenCodec | null
  /** Its `m=` line. */
  readonly line: string
  /** The lines that are accepted, without transport attributes; empty if the medium is rejected. */
  readonly kept: readonly string[]
}

export interface FilteredOffer {
  readonly purpose: Purpose
  /**
   * The offer that the WebRTC library gets. It has only the first medium of a publisher. With two media, the library drops
   * packets whose SSRC is not in the offer (`a=ssrc`). With one, it delivers all packets, and `routing` assigns them to media.
   */
  readonly sdp: string
  readonly routing: Routing
  /** All media of the offer, in order. The answer must have the same number. */
  readonly media: readonly OfferedMedium[]
  readonly video: ChosenCodec<'h264' | 'vp8'> | null
  readonly audio: ChosenCodec<'opus'> | null
  /** The client's ICE username fragment. A different one in a PATCH request is an ICE restart. */
  readonly ufrag: string
}

/** A valid SDP line. Control characters are rejected because native code parses the result. */
const LINE = /^[a-z]=\P{Cc}{0,4096}$/u
const MAX_LINES = 2_000
const MAX_MEDIA = 16
const PROTOCOLS = new Set(['UDP/TLS/RTP/SAVPF', 'UDP/TLS/RTP/SAVP'])
/** Attributes that are copied. All others are dropped unless `keepSection` rebuilds them. */
const COPIED_ATTRIBUTES = ['ice-ufrag', 'ice-pwd', 'fingerprint', 'setup']
const FEEDBACK = new Set(['nack', 'nack pli', 'ccm fir', 'goog-remb'])
const TOKEN = /^[\w!#$%&'*+.^`{|}~-]{1,64}$/

/**
 * Reduces an offer to what we support before native code parses it: one video codec with RTX, Opus, and the header
 * extensions for MID and RID. Candidates are removed, so the server never sends to an address that the client chose. The
 * client's own connectivity checks reveal its address. Other media are rejected.
 * @throws OfferError
 */
export function filterOffer(text: string, purpose: Purpose = 'publish'): FilteredOffer {
  const { session, media } = splitSections(text)
  const lines = media.flat().length + session.length
  if (session[0] !== 'v=0' || lines > MAX_LINES || [...session, ...media.flat()].some((line) => !LINE.test(line))) {
    throw new OfferError('malformed', 'The body is not a session description (SDP).')
  }
  if (media.length === 0 || media.length > MAX_MEDIA) {
    throw new OfferError('malformed', `The offer has ${media.length} media sections. It must have 1 to ${MAX_MEDIA}.`)
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
  const accepted = chosen.filter(({ medium }) => medium.codec !== null)
  if (accepted.length === 0)
    throw new OfferError('unusable', 'The offer has neither video nor audio that can be accepted.')
  const passedOn = purpose === 'publish' ? accepted.slice(0, 1) : accepted
  const kept = passedOn.map(({ section, medium }) => withTransport(section, medium.kept))
  const mids = passedOn.flatMap(({ medium }) => medium.mid ?? [])
  const keptOf = (codec: ChosenCodec | null) =>
    accepted.find(({ medium }) => medium.codec === codec)?.medium.kept ?? null
  const head = [
    'v=0',
    session.find((line) => /^o=\S+ \d+ \d+ IN IP[46] \S+$/.test(line)) ?? 'o=- 1 1 IN IP4 0.0.0.0',
    's=-',
    't=0 0',
    ...(mids.length === passedOn.length ? [`a=group:BUNDLE ${mids.join(' ')}`] : []),
    ...keepAttributes(session),
  ]
  const { ufrag } = checkTransport([...session, ...accepted.flatMap(({ section }) => section)])
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

/** Whether the client sends (or, for viewers, receives) this kind of media over a transport that we support. */
function isOffered(section: readonly string[], kind: string, purpose: Purpose): boolean {
  const { kind: found, port, protocol } = mediaLine(section)
  const rejected = port === '0' && attribute(section, 'bundle-only') === undefined
  const opposite = purpose === 'publish' ? 'a=recvonly' : 'a=sendonly'
  const isUnused = section.some((line) => line === opposite || line === 'a=inactive')
  return found === kind && !rejected && !isUnused && PROTOCOLS.has(protocol)
}

function requireCodec(
  media: readonly (readonly string[])[],
  purpose: Purpose,
  kind: 'video' | 'audio',
  codec: ChosenCodec | null,
  supported: string,
): void {
  if (codec !== null || !media.some((section) => isOffered(section, kind, purpose))) return
  throw new OfferError('unusable', `The offer has no supported ${kind} codec. Supported: ${supported}.`)
}

/** @throws OfferError */
function checkTransport(lines: readonly string[]): { ufrag: string } {
  const ufrag = attribute(lines, 'ice-ufrag') ?? ''
  const password = attribute(lines, 'ice-pwd') ?? ''
  const fingerprint = attribute(lines, 'fingerprint') ?? ''
  // RFC 8839, section 5.4; RFC 8122, section 5.
  const isComplete =
    /^[\w+/=-]{4,256}$/.test(ufrag) &&
    /^[\w+/=-]{22,256}$/.test(password) &&
    /^sha-\d{1,3} [0-9a-f]{2}(:[0-9a-f]{2}){15,63}$/i.test(fingerprint)
  if (!isComplete) throw new OfferError('malformed', 'The offer has no valid ICE credentials or no valid fingerprint.')
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

/** The section that the library gets. It does not need the simulcast layers, which the router handles. */
function withTransport(section: readonly string[], kept: readonly string[]): string[] {
  const [media = '', connection = '', ...rest] = kept
  const lines = rest.filter((line) => !/^a=(rid|simulcast):/.test(line))
  return [media, connection, ...keepAttributes(section), ...lines]
}

/** The `a=rid` and `a=simulcast` lines for the layers (RFC 8851, RFC 8853). Empty without layers. */
export function simulcastLines(layers: readonly string[], direction: 'send' | 'recv'): string[] {
  if (layers.length === 0) return []
  return [...layers.map((layer) => `a=rid:${layer} ${direction}`), `a=simulcast:${direction} ${layers.join(';')}`]
}

function keepAttributes(lines: readonly string[]): string[] {
  return COPIED_ATTRIBUTES.flatMap((name) => attributes(lines, name).map((value) => `a=${name}:${value}`))
}

function midOf(section: readonly string[]): string | undefined {
  const mid = attribute(section, 'mid')
  return mid !== undefined && TOKEN.test(mid) ? mid : undefined
}
