import type { Classification } from '../rtmp/flv.ts'
import type { VideoSize } from '../rtmp/sps.ts'
import type { DestinationRules, MediaWarning, WarningCode } from '../types.ts'
import { ClockDrift } from './clock-drift.ts'
import { isUnsupported, refusalText } from './codec-refusal.ts'
import { FrameIntervals } from './frame-intervals.ts'
import type { PixelFormat } from './media-format.ts'
import { TrackOffset } from './track-offset.ts'
import { unusualFormats } from './unusual-formats.ts'

export interface DoctorLimits {
  /** A finding is reported after it has held for this time. Incidents (a clock jump, a new size) are reported immediately. */
  readonly raiseMs: number
  /** A finding is cleared after it has been gone for this time. */
  readonly clearMs: number
  /** How long a track may be missing. */
  readonly missingTrackMs: number
  /** How long an announced track may be missing at the start. After that it is reported immediately. */
  readonly missingAnnouncedTrackMs: number
  /** How long an incident stays reported. */
  readonly incidentMs: number
}

export const DEFAULT_DOCTOR_LIMITS: DoctorLimits = {
  raiseMs: 3_000,
  clearMs: 10_000,
  missingTrackMs: 5_000,
  missingAnnouncedTrackMs: 1_000,
  incidentMs: 60_000,
}

/** Longest keyframe interval that every platform accepts, seconds. */
const MAX_KEYFRAME_INTERVAL = 4
/** Seconds. Timestamps are rounded to milliseconds, and encoders round the interval to whole frames. */
const INTERVAL_TOLERANCE = 0.1
/** Factor by which the bitrate may exceed a maximum, because it fluctuates over a few seconds. */
const BITRATE_TOLERANCE = 1.1
/** Timestamps of a track may go back by this much, milliseconds. Encoders that reorder frames do that. */
const REORDERING_MS = 5
/** Timestamps that advance this much more than real time have jumped, milliseconds. */
const JUMP_MS = 2_000
/** Seconds. Viewers notice much less, but some encoders interleave the tracks this loosely. */
const MAX_TRACK_OFFSET = 1

/** Codecs that every platform accepts. */
const COMMON_CODECS = { video: ['h264'], audio: ['aac'] }

/** A destination and what it accepts. */
export interface DestinationWithRules {
  readonly id: string
  readonly rules: DestinationRules
}

/** Tracks that a publisher announced before it sent media. */
export interface AnnouncedTracks {
  readonly video: boolean
  readonly audio: boolean
}

interface Finding {
  readonly code: WarningCode
  readonly destinationId: string | null
  readonly message: string
  /** It happened once and is not a state, so it is reported immediately. */
  readonly isIncident?: true
}

interface FindingState {
  finding: Finding
  firstSeen: number
  lastSeen: number
  /** When it was reported (ISO 8601); null before that. */
  since: string | null
}

/** Warnings that were raised and cleared since the last examination. */
export interface WarningChanges {
  readonly raised: readonly MediaWarning[]
  readonly cleared: readonly MediaWarning[]
}

/**
 * Finds problems of a publisher's media, for the stream and for single destinations, and describes them. It sees every
 * message, at the cost of a few additions, and is asked about once a second. A finding must hold for some time before it
 * is raised and be gone for some time before it is cleared, so that warnings do not flap. Times are monotonic milliseconds.
 */
export class StreamDoctor {
  readonly #limits: DoctorLimits
  readonly #startedAt: number
  /** Announced tracks of which nothing was received. */
  readonly #pendingTracks: { audio: boolean; video: boolean }
  readonly #frameIntervals = new FrameIntervals()
  readonly #drift = new ClockDrift()
  readonly #trackOffset = new TrackOffset()
  readonly #findings = new Map<string, FindingState>()
  readonly #lastTimestamp = { audio: Number.NEGATIVE_INFINITY, video: Number.NEGATIVE_INFINITY }
  #lastAudioAt: number | null = null
  #lastVideoAt: number | null = null
  #videoCodec: string | null = null
  #audioCodec: string | null = null
  #hasKeyframe = false
  #lastKeyframe: number | null = null
  #interval: number | null = null
  #size: VideoSize | null = null
  #sizeChangedAt = Number.NEGATIVE_INFINITY
  #sizeChange = ''
  #pixelFormat: PixelFormat | null = null
  #channels: number | null = null
  #forwardJump = ''
  #jumpedForwardAt = Number.NEGATIVE_INFINITY
  #backwardJumps = 0
  #jumpedBackAt = Number.NEGATIVE_INFINITY
  #takeOvers = 0
  #contestedAt = Number.NEGATIVE_INFINITY

  constructor(limits: DoctorLimits, now: number, announced: AnnouncedTracks = { video: false, audio: false }) {
    this.#limits = limits
    this.#pendingTracks = { ...announced }
    this.#startedAt = now
  }

  /** Seconds between the last two keyframes, or since the last one if that is longer. */
  get keyframeInterval(): number | null {
    if (this.#lastKeyframe === null) return null
    const sinceLast = (this.#lastTimestamp.video - this.#lastKeyframe) / 1_000
    return this.#interval === null && sinceLast <= MAX_KEYFRAME_INTERVAL
      ? null
      : Math.max(this.#interval ?? 0, sinceLast)
  }

  /** Media of a track was received, though it may take a while to transcode it. */
  trackReceived(kind: 'audio' | 'video'): void {
    this.#pendingTracks[kind] = false
  }

  /** Examines a message that was received at `now`. `timestamp` is on the publisher's timeline. */
  message({ codec, isFrame, isKeyframe, kind }: Classification, timestamp: number, now: number): void {
    if (kind === 'data') return
    if (kind === 'audio') this.#audioCodec = codec ?? this.#audioCodec
    else this.#videoCodec = codec ?? this.#videoCodec
    if (!isFrame) return
    this.trackReceived(kind)
    if (timestamp < this.#lastTimestamp[kind] - REORDERING_MS) this.timestampsWentBack(now)
    else this.#checkForwardJump(kind, timestamp, now)
    this.#drift.add(timestamp, now)
    this.#trackOffset.add(kind, timestamp, now)
    if (kind === 'audio') this.#lastAudioAt = now
    else {
      this.#frameIntervals.add(timestamp)
      this.#lastVideoAt = now
    }
    this.#lastTimestamp[kind] = timestamp
    if (!isKeyframe) return
    this.#hasKeyframe = true
    if (this.#lastKeyframe !== null) this.#interval = (timestamp - this.#lastKeyframe) / 1_000
    this.#lastKeyframe = timestamp
  }

  /** The publisher's clock jumped back. */
  timestampsWentBack(now: number): void {
    this.#backwardJumps += 1
    this.#jumpedBackAt = now
    this.#restartMeasurements()
  }

  /** The publisher's clock has jumped if a timestamp advances much more than real time. */
  #checkForwardJump(kind: 'audio' | 'video', timestamp: number, now: number): void {
    // The first frame of a track may be ahead of the other track.
    if (this.#lastTimestamp[kind] === Number.NEGATIVE_INFINITY) return
    const latest = Math.max(this.#lastTimestamp.audio, this.#lastTimestamp.video)
    const latestAt = Math.max(this.#lastAudioAt ?? now, this.#lastVideoAt ?? now)
    const jump = timestamp - latest - (now - latestAt)
    if (jump < JUMP_MS) return
    this.#forwardJump = `The encoder's timestamps jumped forward by ${duration(jump)}. Players may stop. Check the clock and the source of the encoder.`
    this.#jumpedForwardAt = now
    this.#restartMeasurements()
    this.#lastKeyframe = this.#interval = null
  }

  /** Measurements that depend on the publisher's clock are invalid after a jump. */
  #restartMeasurements(): void {
    this.#drift.restart()
    this.#trackOffset.restart()
  }

  /** Sets the pixel format of the last video sequence header; null when unknown. */
  pixelFormat(format: PixelFormat | null): void {
    this.#pixelFormat = format
  }

  /** Sets the number of channels of the last audio sequence header; null when unknown. */
  audioChannels(channels: number | null): void {
    this.#channels = channels
  }

  /** Sets the resolution of the last video sequence header. */
  videoSize(size: VideoSize, now: number): void {
    const before = this.#size
    this.#size = size
    if (before === null || (before.width === size.width && before.height === size.height)) return
    this.#sizeChange = `The resolution changed from ${sizeText(before)} to ${sizeText(size)}. Platforms may end the stream.`
    this.#sizeChangedAt = now
  }

  /** Video is received at one resolution and re-encoded at another. */
  videoRescaled(from: VideoSize, to: VideoSize, now: number): void {
    this.#sizeChange = `The video is received as ${sizeText(from)} and re-encoded as ${sizeText(to)}.`
    this.#sizeChangedAt = now
  }

  /** Another encoder uses the same key. `count` is how often they have replaced each other within a minute. */
  keyContested(count: number, now: number): void {
    this.#takeOvers = count
    this.#contestedAt = now
  }

  /** The warnings that are raised now. */
  get warnings(): MediaWarning[] {
    return [...this.#findings.values()].flatMap((state) =>
      state.since === null ? [] : [warningOf(state, state.since)],
    )
  }

  /** Clears all findings. Returns the warnings that were raised. */
  clearWarnings(): readonly MediaWarning[] {
    const { warnings } = this
    this.#findings.clear()
    return warnings
  }

  /** Updates the warnings and returns what has changed since the last call. `at` is the current time (ISO 8601). */
  examine(bitrate: number, destinations: readonly DestinationWithRules[], now: number, at: string): WarningChanges {
    const raised: MediaWarning[] = []
    const cleared: MediaWarning[] = []
    const perDestination = destinations.flatMap((destination) => this.#destinationFindings(destination, bitrate))
    for (const finding of [...this.#streamFindings(now), ...perDestination]) {
      const key = `${finding.code} ${finding.destinationId}`
      const state = this.#findings.get(key) ?? { finding, firstSeen: now, lastSeen: now, since: null }
      this.#findings.set(key, state)
      state.finding = finding
      state.lastSeen = now
      if (state.since !== null) continue
      if (finding.isIncident !== true && now - state.firstSeen < this.#limits.raiseMs) continue
      state.since = at
      raised.push(warningOf(state, at))
    }
    for (const [key, state] of this.#findings) {
      const goneMs = now - state.lastSeen
      if (goneMs === 0) continue
      // A finding that was not reported is removed at once. A reported one must be gone for some time.
      if (state.since !== null && state.finding.isIncident !== true && goneMs < this.#limits.clearMs) continue
      this.#findings.delete(key)
      if (state.since !== null) cleared.push(warningOf(state, state.since))
    }
    return { raised, cleared }
  }

  #streamFindings(now: number): Finding[] {
    const { incidentMs } = this.#limits
    const findings: Finding[] = []
    const find = (code: WarningCode, message: string, isIncident?: true): void => {
      findings.push({ code, destinationId: null, message, ...(isIncident ? { isIncident } : {}) })
    }
    findings.push(...this.#missingTracks(now))
    if (isUnsupported(this.#videoCodec, COMMON_CODECS.video)) {
      find('video_codec', `The video codec is ${this.#videoCodec}. Only H.264 is accepted by every platform.`)
    }
    if (isUnsupported(this.#audioCodec, COMMON_CODECS.audio)) {
      find('audio_codec', `The audio codec is ${this.#audioCodec}. Only AAC is accepted by every platform.`)
    }
    const format = { videoCodec: this.#videoCodec, pixelFormat: this.#pixelFormat, channels: this.#channels }
    for (const { code, message } of unusualFormats(format)) find(code, message)
    if (this.#lastVideoAt !== null && !this.#hasKeyframe) {
      find(
        'keyframe_missing',
        'The video has no keyframe yet, so players show nothing. Set the keyframe interval of the encoder to 2 s.',
      )
    }
    const interval = this.keyframeInterval
    if (interval !== null && interval > MAX_KEYFRAME_INTERVAL + INTERVAL_TOLERANCE) {
      find('keyframe_interval', `The keyframe interval is ${interval.toFixed(1)} s. Set it to 2 s in the encoder.`)
    }
    if (this.#frameIntervals.isUneven) {
      find('frame_rate_varies', 'The frame rate varies. Set a constant frame rate in the encoder, or reduce its load.')
    }
    const drift = this.#drift.seconds
    if (drift !== null && Math.abs(drift) > 1) {
      const direction = drift > 0 ? 'ahead of' : 'behind'
      find(
        'clock_drift',
        `The encoder's timestamps are ${Math.abs(drift).toFixed(1)} s ${direction} real time. Check the load and the clock of the encoder.`,
      )
    }
    const offset = this.#trackOffset.seconds
    if (offset !== null && Math.abs(offset) > MAX_TRACK_OFFSET) {
      const direction = offset > 0 ? 'ahead of' : 'behind'
      find(
        'audio_offset',
        `Audio timestamps are ${duration(Math.abs(offset) * 1_000)} ${direction} video timestamps, so audio and video are out of sync. Check the sync offset of the encoder.`,
      )
    }
    if (now - this.#jumpedForwardAt < incidentMs) find('timestamps_forward', this.#forwardJump, true)
    if (now - this.#jumpedBackAt < incidentMs) {
      find('timestamps_back', `The encoder's timestamps went back ${times(this.#backwardJumps)}.`, true)
    }
    if (now - this.#sizeChangedAt < incidentMs) {
      find('resolution_changed', this.#sizeChange, true)
    }
    if (now - this.#contestedAt < incidentMs) {
      const message = `Two encoders use the same key. They replaced each other ${times(this.#takeOvers)} within a minute. Stop one of them, or give it the backup key.`
      find('key_contested', message, true)
    }
    return findings
  }

  #destinationFindings({ id, rules }: DestinationWithRules, bitrate: number): Finding[] {
    const { audioCodecs, maxBitrate, maxKeyframeIntervalSeconds: longest, name, videoCodecs } = rules
    const findings: Finding[] = []
    const find = (code: WarningCode, message: string): void => {
      findings.push({ code, destinationId: id, message })
    }
    if (isUnsupported(this.#videoCodec, videoCodecs)) {
      find('video_codec', refusalText(name, this.#videoCodec, 'video', videoCodecs))
    }
    if (isUnsupported(this.#audioCodec, audioCodecs)) {
      find('audio_codec', refusalText(name, this.#audioCodec, 'audio', audioCodecs))
    }
    if (maxBitrate !== null && bitrate > maxBitrate * BITRATE_TOLERANCE) {
      find('bitrate', `The bitrate is ${kilobits(bitrate)}. ${name} accepts at most ${kilobits(maxBitrate)}.`)
    }
    const interval = this.keyframeInterval
    if (longest !== null && interval !== null && interval > longest + INTERVAL_TOLERANCE) {
      find(
        'keyframe_interval',
        `The keyframe interval is ${interval.toFixed(1)} s. ${name} accepts at most ${longest} s.`,
      )
    }
    return findings
  }

  #missingTracks(now: number): Finding[] {
    const [video, audio] = [this.#lastVideoAt, this.#lastAudioAt]
    const findings: Finding[] = []
    if (this.#isAnnouncedOnly('video', now)) {
      const message = 'No video is received, although the encoder announced it. Check the camera and the encoder.'
      findings.push({ code: 'video_missing', destinationId: null, message, isIncident: true })
    } else if (this.#isMissing(video, audio, now)) {
      findings.push({ code: 'video_missing', destinationId: null, message: 'No video is received.' })
    }
    const advice = 'Some platforms refuse a stream without audio. Send silence if there is none.'
    if (this.#isAnnouncedOnly('audio', now)) {
      const message = `No audio is received, although the encoder announced it. ${advice}`
      findings.push({ code: 'audio_missing', destinationId: null, message, isIncident: true })
    } else if (this.#isMissing(audio, video, now)) {
      findings.push({ code: 'audio_missing', destinationId: null, message: `No audio is received. ${advice}` })
    }
    return findings
  }

  /** Whether nothing was received of an announced track. */
  #isAnnouncedOnly(kind: 'audio' | 'video', now: number): boolean {
    return this.#pendingTracks[kind] && now - this.#startedAt >= this.#limits.missingAnnouncedTrackMs
  }

  /** Whether one track is missing while the other is received. A publisher that sends neither is dropped anyway. */
  #isMissing(lastAt: number | null, otherAt: number | null, now: number): boolean {
    if (otherAt === null || (lastAt !== null && otherAt <= lastAt)) return false
    return now - (lastAt ?? this.#startedAt) > this.#limits.missingTrackMs
  }
}

function warningOf({ finding }: FindingState, since: string): MediaWarning {
  const { code, destinationId, message } = finding
  return { code, destinationId, message, since }
}

function sizeText({ height, width }: VideoSize): string {
  return `${width}×${height}`
}

/** Formats a duration: seconds up to a minute, then hours and minutes. */
function duration(ms: number): string {
  const seconds = ms / 1_000
  if (seconds < 60) return `${seconds.toFixed(1)} s`
  const minutes = Math.round(seconds / 60)
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`
}

function kilobits(bits: number): string {
  return `${Math.round(bits / 1_000).toLocaleString('en')} kbit/s`
}
