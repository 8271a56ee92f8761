import { describe, expect, test } from 'vitest'
import { completeAnswer, fragmentUfrag } from './answer.ts'
import { filterOffer, OfferError } from './offer.ts'

const FINGERPRINT = `sha-256 ${Array.from({ length: 32 }, () => 'AB').join(':')}`
const TRANSPORT = [
  'a=ice-ufrag:abcd',
  'a=ice-pwd:abcdefghijklmnopqrstuvwx',
  `a=fingerprint:${FINGERPRINT}`,
  'a=setup:actpass',
]
const HEAD = ['v=0', 'o=- 4611731400430051336 2 IN IP4 127.0.0.1', 's=-', 't=0 0', 'a=group:BUNDLE 0 1']
const AUDIO = [
  'm=audio 9 UDP/TLS/RTP/SAVPF 111 63 9 0',
  'c=IN IP4 0.0.0.0',
  'a=rtcp:9 IN IP4 0.0.0.0',
  'a=candidate:1 1 udp 2122260223 192.168.1.7 50000 typ host',
  'a=mid:0',
  'a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid',
  'a=extmap:3 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01',
  'a=sendrecv',
  'a=rtcp-mux',
  'a=rtpmap:111 opus/48000/2',
  'a=rtcp-fb:111 transport-cc',
  'a=fmtp:111 minptime=10;useinbandfec=1',
  'a=rtpmap:63 red/48000/2',
  'a=fmtp:63 111/111',
  'a=ssrc:3 cname:browser',
  'a=ssrc:3 msid:a b',
]
const VIDEO = [
  'm=video 0 UDP/TLS/RTP/SAVPF 96 97 100 101 102 103 104 39',
  'c=IN IP4 0.0.0.0',
  'a=bundle-only',
  'a=mid:1',
  'a=sendonly',
  'a=rtcp-mux',
  'a=rtcp-rsize',
  'a=rtpmap:96 VP8/90000',
  'a=rtcp-fb:96 nack',
  'a=rtpmap:97 rtx/90000',
  'a=fmtp:97 apt=96',
  'a=rtpmap:100 H264/90000',
  'a=fmtp:100 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=4d001f',
  'a=rtpmap:101 rtx/90000',
  'a=fmtp:101 apt=100',
  'a=rtpmap:102 H264/90000',
  'a=rtcp-fb:102 goog-remb',
  'a=rtcp-fb:102 transport-cc',
  'a=rtcp-fb:102 ccm fir',
  'a=rtcp-fb:102 nack',
  'a=rtcp-fb:102 nack pli',
  'a=rtcp-fb:102 rrtr',
  'a=fmtp:102 packetization-mode=1;profile-level-id=42e01f;sprop-parameter-sets=Z0LAHtoCgL/lwEQAAAMABAAAAwDwPFi6gA==,aM4PyA==',
  'a=rtpmap:103 rtx/90000',
  'a=fmtp:103 apt=102',
  'a=rtpmap:104 H264/90000',
  'a=fmtp:104 packetization-mode=0;profile-level-id=42e01f',
  'a=rtpmap:39 AV1/90000',
  'a=rid:h send',
  'a=simulcast:send h',
  'a=ssrc-group:FID 1 2',
  'a=ssrc-group:SIM 1 5',
  'a=ssrc:1 cname:browser',
  'a=ssrc:2 cname:browser',
  'a=end-of-candidates',
]

function sdp(...sections: readonly (readonly string[])[]): string {
  return sections
    .flat()
    .map((line) => `${line}\r\n`)
    .join('')
}

function refusal(text: string): string {
  try {
    filterOffer(text)
  } catch (error) {
    if (error instanceof OfferError) return error.code
    throw error
  }
  return 'accepted'
}

const without = (section: readonly string[], ...parts: string[]): string[] =>
  section.filter((line) => !parts.some((part) => line.includes(part)))

describe('filterOffer', () => {
  test('keeps one codec of each kind and the supported attributes', () => {
    const offer = filterOffer(sdp(HEAD, [...AUDIO, ...TRANSPORT], [...VIDEO, ...TRANSPORT]))
    expect(offer.video).toMatchObject({ name: 'h264', payloadType: 102, rtxPayloadType: 103 })
    expect(offer.video?.parameterSets.map((nal) => nal[0]! & 0x1f)).toEqual([7, 8])
    expect(offer.audio).toMatchObject({ name: 'opus', payloadType: 111 })
    expect(offer.ufrag).toBe('abcd')
    expect(offer.sdp.split('\r\n')).toEqual([
      ...HEAD.map((line) => line.replace('BUNDLE 0 1', 'BUNDLE 0')),
      'm=audio 9 UDP/TLS/RTP/SAVPF 111',
      'c=IN IP4 0.0.0.0',
      ...TRANSPORT,
      'a=mid:0',
      'a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid',
      'a=sendonly',
      'a=rtcp-mux',
      'a=rtpmap:111 opus/48000/2',
      'a=fmtp:111 minptime=10;useinbandfec=1',
      'a=ssrc:3 cname:browser',
      '',
    ])
  })

  test('passes only the first medium of a publisher to the library, and keeps all for the answer', () => {
    const offer = filterOffer(sdp(HEAD, TRANSPORT, VIDEO, AUDIO))
    expect(offer.sdp.match(/^m=\w+/gm)).toEqual(['m=video'])
    expect(offer.sdp).not.toMatch(/a=(rid|simulcast)/)
    expect(offer.media.map(({ kept }) => kept[0])).toEqual([
      'm=video 9 UDP/TLS/RTP/SAVPF 102 103',
      'm=audio 9 UDP/TLS/RTP/SAVPF 111',
    ])
    expect(filterOffer(sdp(HEAD, TRANSPORT, VIDEO, AUDIO).replaceAll('sendonly', 'recvonly'), 'watch').sdp).toMatch(
      /m=video[^]*m=audio/,
    )
  })

  test('prefers the simplest H.264 profile, then packetization mode 0, then VP8', () => {
    const choice = (...parts: string[]) => filterOffer(sdp(HEAD, TRANSPORT, without(VIDEO, ...parts))).video
    expect(choice(':102')).toMatchObject({ name: 'h264', payloadType: 100, rtxPayloadType: 101 })
    expect(choice(':102', ':100')).toMatchObject({ name: 'h264', payloadType: 104, rtxPayloadType: null })
    expect(choice(':102', ':100', ':104')).toMatchObject({ name: 'vp8', payloadType: 96, rtxPayloadType: 97 })
    expect(choice(':97')).toMatchObject({ payloadType: 102 })
  })

  test('accepts session-level transport attributes and a single medium', () => {
    const offer = filterOffer(sdp(HEAD, TRANSPORT, AUDIO))
    expect(offer.video).toBeNull()
    expect(offer.sdp).toContain('a=group:BUNDLE 0\r\n')
    expect(filterOffer(sdp(HEAD, TRANSPORT, VIDEO)).audio).toBeNull()
  })

  test('accepts lines that end in LF', () => {
    expect(refusal(sdp(HEAD, TRANSPORT, VIDEO).replaceAll('\r\n', '\n'))).toBe('accepted')
  })

  test('rejects data channels and further media of the same kind', () => {
    const data = ['m=application 9 UDP/DTLS/SCTP webrtc-datachannel', 'a=mid:2', 'a=sctp-port:5000']
    const offer = filterOffer(sdp(HEAD, TRANSPORT, VIDEO, data, VIDEO, AUDIO))
    expect(offer.media.map(({ codec }) => codec?.name ?? null)).toEqual(['h264', null, null, 'opus'])
    expect(offer.sdp).not.toContain('application')
  })

  test.each([
    ['no text', ''],
    ['no SDP', 'hello'],
    ['no medium', sdp(HEAD, TRANSPORT)],
    ['an invalid line', sdp(HEAD, TRANSPORT, VIDEO, ['nonsense'])],
    ['a line with a control character', sdp(HEAD, TRANSPORT, VIDEO, ['a=x:\0'])],
    ['a line that is too long', sdp(HEAD, TRANSPORT, VIDEO, [`a=x:${'y'.repeat(5_000)}`])],
    [
      'too many lines',
      sdp(
        HEAD,
        TRANSPORT,
        VIDEO,
        Array.from({ length: 3_000 }, () => 'a=x'),
      ),
    ],
    ['too many media', sdp(HEAD, TRANSPORT, ...Array.from({ length: 17 }, () => AUDIO))],
    ['no ICE credentials', sdp(HEAD, TRANSPORT.slice(2), VIDEO)],
    ['a short password', sdp(HEAD, ['a=ice-pwd:short'], TRANSPORT, VIDEO)],
    ['no fingerprint', sdp(HEAD, without(TRANSPORT, 'fingerprint'), VIDEO)],
    ['an invalid fingerprint', sdp(HEAD, ['a=fingerprint:sha-256 no'], TRANSPORT, VIDEO)],
  ])('rejects an offer with %s as malformed', (_what, text) => {
    expect(refusal(text)).toBe('malformed')
  })

  test.each([
    ['only AV1', [...without(VIDEO, 'H264', 'VP8')]],
    ['no Opus', [...VIDEO, ...without(AUDIO, 'opus')]],
    ['video that is not sent', [...without(VIDEO, 'sendonly'), 'a=recvonly']],
    ['only a data channel', ['m=application 9 UDP/DTLS/SCTP webrtc-datachannel']],
    ['an unencrypted transport', VIDEO.map((line) => line.replace('UDP/TLS/RTP/SAVPF', 'RTP/AVP'))],
    ['a medium with port 0', without(VIDEO, 'bundle-only')],
  ])('rejects an offer with %s as unusable', (_what, media) => {
    expect(refusal(sdp(HEAD, TRANSPORT, media))).toBe('unusable')
  })

  test('drops attributes that are invalid or unknown', () => {
    const offer = filterOffer(
      sdp(HEAD, TRANSPORT, [
        ...without(VIDEO, 'mid:1'),
        'a=mid:a b',
        'a=extmap:5 urn:ietf:params:rtp-hdrext:sdes:mid',
        'a=ssrc:99999999999 cname:x',
        'a=ssrc:7 label:y',
        'a=rtpmap:200 H264/90000',
        'a=ice-lite',
        'a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:x',
      ]),
    )
    expect(offer.sdp).not.toMatch(/a=mid|99999999999|label|200|lite|crypto|BUNDLE|candidate/)
  })
})

describe('completeAnswer', () => {
  const offer = filterOffer(
    sdp(HEAD, TRANSPORT, AUDIO, ['m=application 9 UDP/DTLS/SCTP webrtc-datachannel', 'a=mid:d'], VIDEO),
  )
  const answer = sdp(
    ['v=0', 'o=x 1 0 IN IP4 127.0.0.1', 's=-', 't=0 0', 'a=group:BUNDLE 0'],
    [
      'm=audio 40000 UDP/TLS/RTP/SAVPF 111',
      'a=mid:0',
      'a=setup:active',
      'a=candidate:1 1 UDP 1 10.0.0.2 40000 typ host',
      'a=candidate:2 1 UDP 1 10.0.0.3 40000 typ host',
    ],
  )

  test('answers every medium of the offer, and sets a start bitrate', () => {
    expect(completeAnswer(answer, offer, null).split('\r\n').slice(4)).toEqual([
      'a=group:BUNDLE 0 1',
      'm=audio 9 UDP/TLS/RTP/SAVPF 111',
      'c=IN IP4 0.0.0.0',
      'a=mid:0',
      'a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid',
      'a=recvonly',
      'a=rtcp-mux',
      'a=rtpmap:111 opus/48000/2',
      'a=fmtp:111 minptime=10;useinbandfec=1',
      'a=setup:active',
      'a=candidate:1 1 UDP 1 10.0.0.2 40000 typ host',
      'a=candidate:2 1 UDP 1 10.0.0.3 40000 typ host',
      'm=application 0 UDP/DTLS/SCTP webrtc-datachannel',
      'c=IN IP4 0.0.0.0',
      'a=mid:d',
      'a=inactive',
      'm=video 9 UDP/TLS/RTP/SAVPF 102 103',
      'c=IN IP4 0.0.0.0',
      'a=mid:1',
      'a=recvonly',
      'a=rtcp-mux',
      'a=rtpmap:102 H264/90000',
      'a=rtpmap:103 rtx/90000',
      'a=rtcp-fb:102 goog-remb',
      'a=rtcp-fb:102 ccm fir',
      'a=rtcp-fb:102 nack',
      'a=rtcp-fb:102 nack pli',
      'a=fmtp:102 packetization-mode=1;profile-level-id=42e01f;x-google-start-bitrate=2500',
      'a=fmtp:103 apt=102',
      'a=setup:active',
      '',
    ])
  })

  test('accepts the layers of a simulcast by RID', () => {
    const rid = 'a=extmap:10 urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id'
    const layered = [
      ...without(VIDEO, 'simulcast', 'rid:', 'ssrc'),
      rid,
      'a=rid:q send',
      'a=rid:h send',
      'a=rid:f send',
    ]
    const offerWith = (simulcast: string) => filterOffer(sdp(HEAD, TRANSPORT, AUDIO, [...layered, simulcast]))
    const accepted = offerWith('a=simulcast:send q;~h,f recv x')
    expect(accepted.routing).toEqual({
      videoMid: '1',
      audioMid: '0',
      midExtension: 4,
      ridExtension: 10,
      repairedRidExtension: null,
      layers: ['q', 'h'],
    })
    const lines = completeAnswer(answer, accepted, null).split('\r\n')
    expect(lines.filter((line) => /rid:|simulcast/.test(line))).toEqual([
      'a=rid:q recv',
      'a=rid:h recv',
      'a=simulcast:recv q;h',
    ])
    expect(lines).toContain(rid)
    expect(offerWith('a=simulcast:send q;unknown').routing.layers).toEqual(['q'])
  })

  test('ignores a simulcast without the RID header extension', () => {
    const withoutRid = filterOffer(sdp(HEAD, TRANSPORT, VIDEO))
    expect(withoutRid.routing.layers).toEqual([])
    expect(completeAnswer(answer, withoutRid, null)).not.toMatch(/a=(rid|simulcast)/)
  })

  test('replaces all candidates by the announced address', () => {
    const completed = completeAnswer(answer, offer, { address: '203.0.113.7', port: 8189 })
    expect(completed.match(/a=candidate.*/g)?.map((line) => line.trim())).toEqual([
      'a=candidate:1 1 UDP 2122317823 203.0.113.7 8189 typ host',
    ])
  })

  test('adds a start bitrate if the codec has no fmtp line', () => {
    const withoutFmtp = filterOffer(sdp(HEAD, TRANSPORT, AUDIO, without(VIDEO, 'a=fmtp:104', ':102', ':100')))
    const completed = completeAnswer(answer, withoutFmtp, null)
    expect(completed).toContain('a=rtpmap:104 H264/90000\r\na=fmtp:104 x-google-start-bitrate=2500\r\n')
  })
})

test('finds the ICE ufrag of a fragment at the session or at a medium', () => {
  expect(fragmentUfrag('a=ice-ufrag:abcd\r\na=ice-pwd:x\r\nm=video 9 UDP/TLS/RTP/SAVPF 0\r\n')).toBe('abcd')
  expect(fragmentUfrag('m=video 9 RTP/AVP 0\r\na=mid:0\r\na=ice-ufrag:efgh\r\n')).toBe('efgh')
  expect(fragmentUfrag('')).toBeUndefined()
})
