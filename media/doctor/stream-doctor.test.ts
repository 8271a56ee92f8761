import { expect, test } from 'vitest'
import type { Classification } from '../rtmp/flv.ts'
import { DEFAULT_DOCTOR_LIMITS, StreamDoctor, type DestinationWithRules, type WarningChanges } from './stream-doctor.ts'

const TWITCH: DestinationWithRules = {
  id: 'twitch',
  rules: {
    name: 'Twitch',
    videoCodecs: ['h264'],
    audioCodecs: ['aac'],
    maxBitrate: 6_000_000,
    maxKeyframeIntervalSeconds: 2,
  },
}

interface FeedOptions {
  readonly seconds: number
  readonly frameMs?: (frame: number) => number
  readonly keyframeEvery?: number
  readonly audio?: boolean
  /** Milliseconds by which audio timestamps are ahead of video timestamps. */
  readonly audioAheadMs?: number
  readonly videoCodec?: string
  /** Speed of media time, relative to real time. */
  readonly speed?: number
  readonly bitrate?: number
}

/** A doctor and a publisher in simulated time. Both clocks start at 0 and continue over several calls of `feed`. */
function setUp(destinations: readonly DestinationWithRules[] = []) {
  const doctor = new StreamDoctor(DEFAULT_DOCTOR_LIMITS, 0)
  const changes: string[] = []
  let now = 0
  let media = 0
  let frames = 0
  const note = ({ raised, cleared }: WarningChanges): void => {
    changes.push(
      ...raised.map(({ code, destinationId }) => `+${code}${destinationId === null ? '' : `@${destinationId}`}`),
    )
    changes.push(
      ...cleared.map(({ code, destinationId }) => `-${code}${destinationId === null ? '' : `@${destinationId}`}`),
    )
  }
  const feed = (options: FeedOptions): string[] => {
    const { seconds, frameMs = () => 20, keyframeEvery = 100, audio = true, videoCodec = 'h264' } = options
    const { audioAheadMs = 0, speed = 1, bitrate = 2_000_000 } = options
    const until = now + seconds * 1_000
    let examineAt = Math.ceil(now / 1_000) * 1_000
    while (now < until) {
      const video = { kind: 'video', isSequenceHeader: false, isFrame: true, codec: videoCodec } as const
      doctor.message({ ...video, isKeyframe: frames % keyframeEvery === 0 } satisfies Classification, media, now)
      const audioFrame: Classification = {
        kind: 'audio',
        isSequenceHeader: false,
        isFrame: true,
        isKeyframe: false,
        codec: 'aac',
      }
      if (audio) doctor.message(audioFrame, media + audioAheadMs, now)
      const step = frameMs(frames)
      frames += 1
      media += step
      now += step / speed
      if (now < examineAt) continue
      note(doctor.examine(bitrate, destinations, now, new Date(examineAt).toISOString()))
      examineAt += 1_000
    }
    return changes.splice(0)
  }
  const jump = (ms: number): void => {
    media += ms
  }
  return { doctor, feed, jump, now: () => now }
}

test('a good stream has no warnings', () => {
  expect(setUp([TWITCH]).feed({ seconds: 120 })).toEqual([])
})

test('keyframe_interval: above 4 s for the stream, above its own maximum for a destination', () => {
  const { doctor, feed } = setUp([TWITCH])
  expect(feed({ seconds: 30, keyframeEvery: 150 })).toEqual(['+keyframe_interval@twitch'])
  expect(doctor.warnings[0]?.message).toBe('The keyframe interval is 3.0 s. Twitch accepts at most 2 s.')
  expect(feed({ seconds: 30, keyframeEvery: 250 })).toEqual(['+keyframe_interval'])
  expect(feed({ seconds: 40, keyframeEvery: 100 })).toEqual(expect.arrayContaining(['-keyframe_interval']))
  expect(doctor.warnings).toEqual([])
})

test('keyframe_interval: reported before a late keyframe arrives', () => {
  expect(setUp().feed({ seconds: 10, keyframeEvery: Infinity })).toEqual(['+keyframe_interval'])
})

test('frame_rate_varies: reported for uneven intervals, not for rounding', () => {
  const { feed } = setUp()
  expect(feed({ seconds: 20, frameMs: (frame) => 33 + (frame % 3 === 0 ? 1 : 0) })).toEqual([])
  expect(feed({ seconds: 20, frameMs: (frame) => [17, 33, 83, 17][frame % 4]!, keyframeEvery: 60 })).toEqual([
    '+frame_rate_varies',
  ])
  expect(feed({ seconds: 20 })).toEqual(['-frame_rate_varies'])
})

test('audio_missing: from the start, and when audio stops', () => {
  const { feed } = setUp()
  expect(feed({ seconds: 12, audio: false })).toEqual(['+audio_missing'])
  expect(feed({ seconds: 15 })).toEqual(['-audio_missing'])
  expect(feed({ seconds: 4, audio: false })).toEqual([])
  expect(feed({ seconds: 10, audio: false })).toEqual(['+audio_missing'])
})

test('bitrate: raised when it stays above the maximum, cleared when it stays below', () => {
  const { doctor, feed } = setUp([TWITCH])
  expect(feed({ seconds: 2, bitrate: 9_000_000 })).toEqual([])
  expect(feed({ seconds: 10, bitrate: 6_300_000 })).toEqual([])
  expect(feed({ seconds: 6, bitrate: 9_000_000 })).toEqual(['+bitrate@twitch'])
  expect(doctor.warnings[0]?.message).toBe('The bitrate is 9,000 kbit/s. Twitch accepts at most 6,000 kbit/s.')
  for (let round = 0; round < 5; round += 1) {
    expect(feed({ seconds: 5, bitrate: 5_000_000 })).toEqual([])
    expect(feed({ seconds: 2, bitrate: 9_000_000 })).toEqual([])
  }
  expect(feed({ seconds: 15, bitrate: 5_000_000 })).toEqual(['-bitrate@twitch'])
})

test('clock_drift: for timestamps that are too slow or too fast', () => {
  const slow = setUp()
  expect(slow.feed({ seconds: 60, speed: 0.9 })).toEqual(['+clock_drift'])
  expect(slow.doctor.warnings[0]?.message).toMatch(/behind real time/)
  const fast = setUp()
  expect(fast.feed({ seconds: 60, speed: 1.1 })).toEqual(['+clock_drift'])
  expect(fast.doctor.warnings[0]?.message).toMatch(/ahead of real time/)
})

test('audio_offset: for audio timestamps behind or ahead of video timestamps', () => {
  const late = setUp()
  expect(late.feed({ seconds: 20, audioAheadMs: -2_000 })).toEqual(['+audio_offset'])
  expect(late.doctor.warnings[0]?.message).toMatch(/2\.0 s behind video timestamps/)
  expect(late.feed({ seconds: 20, audioAheadMs: -2_000 })).toEqual([])
  const early = setUp()
  expect(early.feed({ seconds: 20, audioAheadMs: 2_000 })).toEqual(['+audio_offset'])
  expect(early.doctor.warnings[0]?.message).toMatch(/ahead of/)
})

test('audio_offset: not reported for audio that pauses', () => {
  const { feed } = setUp()
  feed({ seconds: 10 })
  expect(feed({ seconds: 4, audio: false })).toEqual([])
  expect(feed({ seconds: 10 })).toEqual([])
})

test('timestamps_forward: a jump is reported as such, not as clock_drift', () => {
  const { doctor, feed, jump } = setUp()
  feed({ seconds: 15 })
  jump(3_600_000)
  expect(feed({ seconds: 30 })).toEqual(['+timestamps_forward'])
  expect(doctor.warnings[0]?.message).toMatch(/jumped forward by 1 h 0 min/)
  expect(feed({ seconds: 60 })).toEqual(['-timestamps_forward'])
})

test('timestamps_forward: not reported when the encoder pauses', () => {
  const { feed } = setUp()
  feed({ seconds: 15 })
  expect(feed({ seconds: 0.02, frameMs: () => 4_000 })).toEqual([])
  expect(feed({ seconds: 20 })).toEqual([])
})

test('keyframe_missing: for video without any keyframe', () => {
  const doctor = new StreamDoctor(DEFAULT_DOCTOR_LIMITS, 0)
  const videoFrame = {
    kind: 'video',
    isSequenceHeader: false,
    isFrame: true,
    isKeyframe: false,
    codec: 'h264',
  } as const
  const raised: string[] = []
  for (let now = 0; now < 8_000; now += 20) {
    doctor.message(videoFrame, now, now)
    if (now % 1_000 === 0) raised.push(...doctor.examine(0, [], now, '').raised.map(({ code }) => code))
  }
  expect(raised).toContain('keyframe_missing')
})

test('timestamps_back: reported immediately, for a minute', () => {
  const { doctor, feed, jump } = setUp()
  feed({ seconds: 5 })
  jump(-200)
  expect(feed({ seconds: 2 })).toEqual(['+timestamps_back'])
  expect(doctor.warnings[0]?.message).toMatch(/went back/)
  expect(feed({ seconds: 50 })).toEqual([])
  expect(feed({ seconds: 15 })).toEqual(['-timestamps_back'])
})

test('resolution_changed: reported when the resolution changes', () => {
  const { doctor, feed, now } = setUp()
  doctor.videoSize({ width: 1280, height: 720 }, now())
  expect(feed({ seconds: 10 })).toEqual([])
  doctor.videoSize({ width: 1280, height: 720 }, now())
  doctor.videoSize({ width: 720, height: 1280 }, now())
  expect(feed({ seconds: 2 })).toEqual(['+resolution_changed'])
  expect(doctor.warnings[0]?.message).toMatch('1280×720 to 720×1280')
})

test('video_codec: reported for the stream and for a destination that does not accept it', () => {
  const { doctor, feed } = setUp([TWITCH])
  expect(feed({ seconds: 6, videoCodec: 'hevc' })).toEqual(['+video_codec', '+video_codec@twitch'])
  expect(doctor.warnings[1]?.message).toBe('Twitch does not accept hevc video. It accepts h264.')
})

test('an announced track that is missing is reported within two seconds and cleared when it arrives', () => {
  const doctor = new StreamDoctor(DEFAULT_DOCTOR_LIMITS, 0, { video: true, audio: true })
  const audioFrame: Classification = {
    kind: 'audio',
    isSequenceHeader: false,
    isFrame: true,
    isKeyframe: false,
    codec: 'aac',
  }
  const examine = (now: number) => {
    const { cleared, raised } = doctor.examine(0, [], now, '')
    return [...raised.map(({ code }) => `+${code}`), ...cleared.map(({ code }) => `-${code}`)]
  }
  doctor.message(audioFrame, 0, 100)
  expect(examine(900)).toEqual([])
  doctor.message(audioFrame, 1_700, 1_800)
  expect(examine(1_900)).toEqual(['+video_missing'])
  doctor.message({ ...audioFrame, kind: 'video', isKeyframe: true, codec: 'h264' }, 1_900, 2_000)
  expect(examine(2_900)).toEqual(['-video_missing'])
})

test('an announced track that was received but is still being transcoded gets the time of any other track', () => {
  const doctor = new StreamDoctor(DEFAULT_DOCTOR_LIMITS, 0, { video: true, audio: true })
  const videoFrame: Classification = {
    kind: 'video',
    isSequenceHeader: false,
    isFrame: true,
    isKeyframe: true,
    codec: 'h264',
  }
  doctor.trackReceived('audio')
  const raised: string[] = []
  for (let now = 0; now <= 10_000; now += 1_000) {
    doctor.message(videoFrame, now, now)
    raised.push(...doctor.examine(0, [], now, '').raised.map(({ code }) => `${code} at ${now}`))
  }
  expect(raised).toEqual(['audio_missing at 9000'])
})
