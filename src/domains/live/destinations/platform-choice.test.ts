import { expect, test } from 'vitest'
import { parseDestinationUrl } from '../../../tools/destination-url.ts'
import { LIVE_PLATFORM_NAMES, LIVE_PLATFORMS, livePlatform } from './live-platforms.ts'
import { keyFault, placeOf, rulesOf } from './platform-choice.ts'

test.each(LIVE_PLATFORM_NAMES)(
  '%s: every figure has a source and a date, and every URL can be connected to',
  (name) => {
    const platform = livePlatform(name)
    const facts = Object.values(platform).filter(
      (value) => typeof value === 'object' && value !== null && 'value' in value,
    )
    expect(facts.length).toBeGreaterThanOrEqual(4)
    for (const fact of facts) {
      expect(fact).toMatchObject({
        source: expect.stringMatching(/^(obs|vendor|reported)$/),
        seen: expect.stringMatching(/^20\d\d-\d\d$/),
      })
    }
    for (const url of [platform.ingestUrl, platform.backupUrl]) {
      if (url === null) continue
      const { secure, host } = parseDestinationUrl(url.value)
      expect(secure).toBe(true)
      expect(platform.hosts?.some((known) => host.endsWith(known))).toBe(true)
    }
    expect(platform.keyframeInterval.value).toBeLessThanOrEqual(platform.maxKeyframeInterval.value)
    expect(rulesOf(name)).toMatchObject({ name: platform.label, maxKeyframeIntervalSeconds: 4 })
  },
)

test('a platform with a fixed server needs only its name; others also need a URL', () => {
  expect(placeOf({ platform: 'youtube', streamKey: 'k' })).toEqual({ url: LIVE_PLATFORMS.youtube.ingestUrl.value })
  const regional = 'rtmp://fra05.contribute.live-video.net/app'
  expect(placeOf({ platform: 'twitch', url: regional, streamKey: 'k' })).toEqual({ url: regional })
  expect(placeOf({ url: 'rtmp://mine.example/live', streamKey: 'k' })).toEqual({ url: 'rtmp://mine.example/live' })
  expect(placeOf({ platform: 'tiktok', streamKey: 'k' })).toMatchObject({ field: 'url', code: 'required' })
  expect(placeOf({ streamKey: 'k' })).toMatchObject({ field: 'url', code: 'required' })
})

test('a URL of another platform is refused, and so is one without TLS if the platform requires TLS', () => {
  const elsewhere = { platform: 'twitch', url: 'rtmp://eviltwitch.tv/app', streamKey: 'k' } as const
  expect(placeOf(elsewhere)).toMatchObject({ field: 'url', code: 'foreign_host' })
  const plain = { platform: 'facebook', url: 'rtmp://rtmp-api.facebook.com/rtmp', streamKey: 'k' } as const
  expect(placeOf(plain)).toMatchObject({ code: 'tls_only' })
})

test.each([
  ['youtube', 'rtmps://a.rtmps.youtube.com/live2/abcd-efgh-ijkl-mnop-qrst', 'key_is_url'],
  [undefined, 'rtmp://mine.example/live/secret', 'key_is_url'],
  ['twitch', 'https://www.twitch.tv/ada', 'key_is_url'],
  ['kick', 'ada@example.com', 'key_is_email'],
  ['youtube', 'live_123456_AbCdEf', 'key_of_other_platform'],
  ['twitch', 'abcd-efgh-ijkl-mnop-qrst', 'key_of_other_platform'],
  ['youtube', 'UCabcdefghijklmnopqrstuv', 'key_form'],
  ['twitch', 'ada', 'key_form'],
] as const)('%s: helps with %s', (platform, streamKey, code) => {
  const fault = keyFault({ ...(platform ? { platform } : {}), streamKey })
  expect(fault).toMatchObject({ field: 'streamKey', code })
  expect(fault?.message).not.toContain(streamKey)
  if (platform) expect(fault?.message).toContain(livePlatform(platform).keyHelp)
})

test.each([
  ['youtube', 'abcd-efgh-ijkl-mnop-qrst'],
  ['twitch', 'live_123456_AbCdEf?bandwidthtest=true'],
  ['facebook', 'FB-1234567890-0-Ab_cD?s_bl=1&s_psm=1&a=xyz'],
  ['facebook', '1234567890-0-AbcD?s_bl=1'],
  ['kick', 'sk_us-west-2_abcdef'],
  ['tiktok', 'anything'],
  [undefined, 'live_123456_AbCdEf'],
] as const)('%s: takes %s', (platform, streamKey) => {
  expect(keyFault({ ...(platform ? { platform } : {}), streamKey })).toBeUndefined()
})
