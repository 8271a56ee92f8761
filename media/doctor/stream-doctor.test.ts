import { expect, test } from 'vitest'
import type { Classification } from '../rtmp/flv.ts'
import { DEFAULT_DOCTOR_LIMITS, StreamDoctor, type Diagnosis, type Patient } from './stream-doctor.ts'

const TWITCH: Patient = {
  id: 'twitch',
  rules: {
    name: 'Twitch',
    videoCodecs: ['h264'],
    audioCodecs: ['aac'],
    maxBitrate: 6_000_000,
    maxKeyframeIntervalSeconds: 2,
  },
}

interface Feeding {
  readonly seconds: number
  readonly frameMs?: (frame: number) => number
  readonly keyframeEvery?: number
  readonly audio?: boolean
  /** By how much timestamps of sound are ahead of those of the picture, milliseconds. */
  readonly audioAheadMs?: number
  readonly videoCodec?: string
  /** Media milliseconds that pass in one real one. */
  readonly pace?: number
  readonly bitrate?: number
}

/** A doctor and a publisher in simulated time: both clocks start at 0 and go on over several feedings. */
function practice(patients: readonly Patient[] = []) {
  const doctor = new StreamDoctor(DEFAULT_DOCTOR_LIMITS, 0)
  const told: string[] = []
  let now = 0
  let media = 0
  let frames = 0
  const note = ({ raised, cleared }: Diagnosis): void => {
    told.push(
      ...raised.map(({ code, destinationId }) => `+${code}${destinationId === null ? '' : `@${destinationId}`}`),
    )
    told.push(
      ...cleared.map(({ code, destinationId }) => `-${code}${destinationId === null ? '' : `@${destinationId}`}`),
    )
  }
  const feed = (feeding: Feeding): string[] => {
    const { seconds, frameMs = () => 20, keyframeEvery = 100, audio = true, videoCodec = 'h264' } = feeding
    const { audioAheadMs = 0, pace = 1, bitrate = 2_000_000 } = feeding
    const until = now + seconds * 1_000
    let examineAt = Math.ceil(now / 1_000) * 1_000
    while (now < until) {
      const video = { kind: 'video', isHeader: false, isFrame: true, codec: videoCodec } as const
      doctor.message({ ...video, isKeyframe: frames % keyframeEvery === 0 } satisfies Classification, media, now)
      const sound: Classification = { kind: 'audio', isHeader: false, isFrame: true, isKeyframe: false, codec: 'aac' }
      if (audio) doctor.message(sound, media + audioAheadMs, now)
      const step = frameMs(frames)
      frames += 1
      media += step
      now += step / pace
      if (now < examineAt) continue
      note(doctor.examine(bitrate, patients, now, new Date(examineAt).toISOString()))
      examineAt += 1_000
    }
    return told.splice(0)
  }
  const jump = (ms: number): void => {
    media += ms
  }
  return { doctor, feed, jump, now: () => now }
}

test('a good stream has nothing, however long it runs', () => {
  expect(practice([TWITCH]).feed({ seconds: 120 })).toEqual([])
})

test('keyframes too far apart: for all beyond 4 s, for a destination beyond its own rule', () => {
  const { doctor, feed } = practice([TWITCH])
  expect(feed({ seconds: 30, keyframeEvery: 150 })).toEqual(['+keyframe_interval@twitch'])
  expect(doctor.warnings[0]?.message).toBe('Keyframes come every 3.0 s; Twitch takes at most 2 s.')
  expect(feed({ seconds: 30, keyframeEvery: 250 })).toEqual(['+keyframe_interval'])
  expect(feed({ seconds: 40, keyframeEvery: 100 })).toEqual(expect.arrayContaining(['-keyframe_interval']))
  expect(doctor.warnings).toEqual([])
})

test('no keyframe at all is told while it is still missing', () => {
  expect(practice().feed({ seconds: 10, keyframeEvery: Infinity })).toEqual(['+keyframe_interval'])
})

test('a varying frame rate, and none for rounding or for one pause', () => {
  const { feed } = practice()
  expect(feed({ seconds: 20, frameMs: (frame) => 33 + (frame % 3 === 0 ? 1 : 0) })).toEqual([])
  expect(feed({ seconds: 20, frameMs: (frame) => [17, 33, 83, 17][frame % 4]!, keyframeEvery: 60 })).toEqual([
    '+frame_rate_varies',
  ])
  expect(feed({ seconds: 20 })).toEqual(['-frame_rate_varies'])
})

test('audio that is missing, from the start and later', () => {
  const { feed } = practice()
  expect(feed({ seconds: 12, audio: false })).toEqual(['+audio_missing'])
  expect(feed({ seconds: 15 })).toEqual(['-audio_missing'])
  expect(feed({ seconds: 4, audio: false })).toEqual([])
  expect(feed({ seconds: 10, audio: false })).toEqual(['+audio_missing'])
})

test('a bitrate over a destination’s cap has to hold, and to stay below for a while', () => {
  const { doctor, feed } = practice([TWITCH])
  expect(feed({ seconds: 2, bitrate: 9_000_000 })).toEqual([])
  expect(feed({ seconds: 10, bitrate: 6_300_000 })).toEqual([])
  expect(feed({ seconds: 6, bitrate: 9_000_000 })).toEqual(['+bitrate@twitch'])
  expect(doctor.warnings[0]?.message).toBe('9,000 kbit/s come in; Twitch takes at most 6,000 kbit/s.')
  for (let round = 0; round < 5; round += 1) {
    expect(feed({ seconds: 5, bitrate: 5_000_000 })).toEqual([])
    expect(feed({ seconds: 2, bitrate: 9_000_000 })).toEqual([])
  }
  expect(feed({ seconds: 15, bitrate: 5_000_000 })).toEqual(['-bitrate@twitch'])
})

test('a clock that drifts, fast or slow', () => {
  const slow = practice()
  expect(slow.feed({ seconds: 60, pace: 0.9 })).toEqual(['+clock_drift'])
  expect(slow.doctor.warnings[0]?.message).toMatch(/behind the clock/)
  const fast = practice()
  expect(fast.feed({ seconds: 60, pace: 1.1 })).toEqual(['+clock_drift'])
  expect(fast.doctor.warnings[0]?.message).toMatch(/ahead of the clock/)
})

test('sound whose timestamps are off against the picture', () => {
  const late = practice()
  expect(late.feed({ seconds: 20, audioAheadMs: -2_000 })).toEqual(['+audio_offset'])
  expect(late.doctor.warnings[0]?.message).toMatch(/2\.0 s behind those of the picture/)
  expect(late.feed({ seconds: 20, audioAheadMs: -2_000 })).toEqual([])
  const early = practice()
  expect(early.feed({ seconds: 20, audioAheadMs: 2_000 })).toEqual(['+audio_offset'])
  expect(early.doctor.warnings[0]?.message).toMatch(/ahead of/)
})

test('sound that stops for a while is not off against the picture', () => {
  const { feed } = practice()
  feed({ seconds: 10 })
  expect(feed({ seconds: 4, audio: false })).toEqual([])
  expect(feed({ seconds: 10 })).toEqual([])
})

test('a jump of the timestamps is told as one, not as an encoder that cannot keep its pace', () => {
  const { doctor, feed, jump } = practice()
  feed({ seconds: 15 })
  jump(3_600_000)
  expect(feed({ seconds: 30 })).toEqual(['+timestamps_forward'])
  expect(doctor.warnings[0]?.message).toMatch(/jumped forward by 1 h 0 min/)
  expect(feed({ seconds: 60 })).toEqual(['-timestamps_forward'])
})

test('a pause of the encoder is no jump', () => {
  const { feed } = practice()
  feed({ seconds: 15 })
  expect(feed({ seconds: 0.02, frameMs: () => 4_000 })).toEqual([])
  expect(feed({ seconds: 20 })).toEqual([])
})

test('video without any keyframe', () => {
  const doctor = new StreamDoctor(DEFAULT_DOCTOR_LIMITS, 0)
  const picture = { kind: 'video', isHeader: false, isFrame: true, isKeyframe: false, codec: 'h264' } as const
  const raised: string[] = []
  for (let now = 0; now < 8_000; now += 20) {
    doctor.message(picture, now, now)
    if (now % 1_000 === 0) raised.push(...doctor.examine(0, [], now, '').raised.map(({ code }) => code))
  }
  expect(raised).toContain('keyframe_missing')
})

test('timestamps that go back are told at once, and for a minute', () => {
  const { doctor, feed, jump } = practice()
  feed({ seconds: 5 })
  jump(-200)
  expect(feed({ seconds: 2 })).toEqual(['+timestamps_back'])
  expect(doctor.warnings[0]?.message).toMatch(/went back/)
  expect(feed({ seconds: 50 })).toEqual([])
  expect(feed({ seconds: 15 })).toEqual(['-timestamps_back'])
})

test('a picture that changes its size', () => {
  const { doctor, feed, now } = practice()
  doctor.pictureSize({ width: 1280, height: 720 }, now())
  expect(feed({ seconds: 10 })).toEqual([])
  doctor.pictureSize({ width: 1280, height: 720 }, now())
  doctor.pictureSize({ width: 720, height: 1280 }, now())
  expect(feed({ seconds: 2 })).toEqual(['+resolution_changed'])
  expect(doctor.warnings[0]?.message).toMatch('1280×720 to 720×1280')
})

test('a codec that a destination does not take', () => {
  const { doctor, feed } = practice([TWITCH])
  expect(feed({ seconds: 6, videoCodec: 'hevc' })).toEqual(['+video_codec', '+video_codec@twitch'])
  expect(doctor.warnings[1]?.message).toBe('Twitch does not take hevc video; it takes h264.')
})

test('a track that was announced and does not come is told within two seconds, and taken back when it comes', () => {
  const doctor = new StreamDoctor(DEFAULT_DOCTOR_LIMITS, 0, { video: true, audio: true })
  const sound: Classification = { kind: 'audio', isHeader: false, isFrame: true, isKeyframe: false, codec: 'aac' }
  const examine = (now: number) => {
    const { cleared, raised } = doctor.examine(0, [], now, '')
    return [...raised.map(({ code }) => `+${code}`), ...cleared.map(({ code }) => `-${code}`)]
  }
  doctor.message(sound, 0, 100)
  expect(examine(900)).toEqual([])
  doctor.message(sound, 1_700, 1_800)
  expect(examine(1_900)).toEqual(['+video_missing'])
  doctor.message({ ...sound, kind: 'video', isKeyframe: true, codec: 'h264' }, 1_900, 2_000)
  expect(examine(2_900)).toEqual(['-video_missing'])
})

test('a track that has come is not missed at once while it is encoded, but after the usual patience', () => {
  const doctor = new StreamDoctor(DEFAULT_DOCTOR_LIMITS, 0, { video: true, audio: true })
  const picture: Classification = { kind: 'video', isHeader: false, isFrame: true, isKeyframe: true, codec: 'h264' }
  doctor.arrived('audio')
  const raised: string[] = []
  for (let now = 0; now <= 10_000; now += 1_000) {
    doctor.message(picture, now, now)
    raised.push(...doctor.examine(0, [], now, '').raised.map(({ code }) => `${code} at ${now}`))
  }
  expect(raised).toEqual(['audio_missing at 9000'])
})
