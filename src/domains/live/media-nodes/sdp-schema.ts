import { Type } from '../../../core/schema.ts'

/** Offers of browsers have 4 to 10 kB. */
export const MAX_SDP_BYTES = 65_536

export const Sdp = Type.String({
  minLength: 1,
  maxLength: MAX_SDP_BYTES,
  'x-verbatim': true,
  description: 'Session description (RFC 8866)',
})

/** The smallest offer that WHIP and WHEP accept: one H.264 video. */
export function exampleOffer(direction: 'sendonly' | 'recvonly'): string {
  const lines = [
    'v=0',
    'o=- 1 1 IN IP4 0.0.0.0',
    's=-',
    't=0 0',
    'a=group:BUNDLE 0',
    'm=video 9 UDP/TLS/RTP/SAVPF 96',
    'c=IN IP4 0.0.0.0',
    'a=mid:0',
    `a=${direction}`,
    'a=rtcp-mux',
    'a=ice-ufrag:abcd',
    'a=ice-pwd:abcdefghijklmnopqrstuvwx',
    `a=fingerprint:sha-256 ${Array.from({ length: 32 }, () => 'AB').join(':')}`,
    'a=setup:actpass',
    'a=rtpmap:96 H264/90000',
    'a=fmtp:96 profile-level-id=42e01f;packetization-mode=1',
  ]
  return `${lines.join('\r\n')}\r\n`
}
