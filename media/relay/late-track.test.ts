import { expect, test } from 'vitest'
import { DEFAULT_DOCTOR_LIMITS } from '../doctor/stream-doctor.ts'
import { PublisherSession } from '../ingest/publisher-session.ts'
import { AUDIO, VIDEO } from '../rtmp/flv.ts'
import { aacFrame, aacHeader, avcFrame, avcHeader } from '../testing/media-payloads.ts'
import { SourceTimeline } from './source-timeline.ts'

const DELAY_MS = 1_500

/** A publisher whose media gets the timeline of a source. `times` are the resulting timestamps of the frames. */
function publisherOnTimeline(headersAreTimed: boolean) {
  let now = 0
  const timeline = new SourceTimeline()
  const times = { audio: [] as number[], video: [] as number[] }
  const session = new PublisherSession({
    sessionId: 'session',
    path: 'path',
    keyHash: 'hash',
    remoteAddress: '127.0.0.1',
    stream: { streamId: 'stream', path: 'path', keyHash: 'hash', live: true, destinations: [] },
    doctor: DEFAULT_DOCTOR_LIMITS,
    headersAreTimed,
    now: () => now,
    drop: () => {},
    refuse: () => {},
  })
  session.onMessage = (message) => {
    const { timestamp } = timeline.place(message, now)
    if (message.kind !== 'data' && !message.isSequenceHeader) times[message.kind].push(timestamp)
  }
  const send = (type: number, at: number, timestamp: number, payload: Buffer): void => {
    now = at
    session.deliver({ type, timestamp, payload, streamId: 1, chunkStreamId: 4 })
  }
  return { send, times }
}

const steps = (of: readonly number[]) => new Set(of.slice(1).map((time, index) => time - of[index]!))

test.each([
  ['by WHIP', true],
  ['by RTMP', false],
])('video that a transcoder delays, with a new configuration, leaves no gap (%s)', (_how, timed) => {
  const { send, times } = publisherOnTimeline(timed)
  send(VIDEO, 0, 0, avcHeader())
  send(AUDIO, 0, 0, aacHeader())
  for (let at = 0; at < 4_000; at += 20) {
    send(AUDIO, at, at, aacFrame())
    if (at < 800) send(VIDEO, at, at, avcFrame(at === 0))
    // From here on a transcoder that has just started sends the video.
    else if (at === 800 + DELAY_MS) {
      send(VIDEO, at, 800, avcHeader())
      for (let time = 800; time <= at; time += 20) send(VIDEO, at, time, avcFrame(time === 800))
    } else if (at > 800 + DELAY_MS) send(VIDEO, at, at, avcFrame(false))
  }
  expect(steps(times.audio)).toEqual(new Set([20]))
  expect(steps(times.video)).toEqual(new Set([20]))
  expect(times.video).toEqual(times.audio)
})

test('audio whose encoder starts late stays in sync with the video', () => {
  const { send, times } = publisherOnTimeline(true)
  send(VIDEO, 0, 0, avcHeader())
  for (let at = 0; at < 4_000; at += 20) {
    send(VIDEO, at, at, avcFrame(at === 0))
    if (at === DELAY_MS) {
      send(AUDIO, at, 0, aacHeader())
      for (let time = 0; time <= at; time += 20) send(AUDIO, at, time, aacFrame())
    } else if (at > DELAY_MS) send(AUDIO, at, at, aacFrame())
  }
  expect(steps(times.video)).toEqual(new Set([20]))
  expect(times.audio).toEqual(times.video)
})
