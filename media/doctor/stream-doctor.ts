import type { Classification } from '../rtmp/flv.ts'
import type { PictureSize } from '../rtmp/sps.ts'
import type { DestinationRules, MediaWarning, WarningCode } from '../types.ts'
import { ClockDrift } from './clock-drift.ts'
import { isForeign } from './refusal.ts'
import { FrameRhythm } from './frame-rhythm.ts'
import type { PixelFormat } from './media-format.ts'
import { TrackOffset } from './track-offset.ts'
import { unusualForms } from './unusual-forms.ts'

export interface DoctorLimits {
  /** A finding is told once it has held for this long; what happened once (a jump, a new size) is told at once. */
  readonly raiseMs: number
  /** It is taken back once it has not been there for this long. */
  readonly clearMs: number
  /** How long a stream may be without one of its tracks. */
  readonly trackPatienceMs: number
  /** The same for a track that the publisher announced. It is told at once. */
  readonly announcedPatienceMs: number
  /** How long something that happened once stays told. */
  readonly rememberMs: number
}

export const DEFAULT_DOCTOR_LIMITS: DoctorLimits = {
  raiseMs: 3_000,
  clearMs: 10_000,
  trackPatienceMs: 5_000,
  announcedPatienceMs: 1_000,
  rememberMs: 60_000,
}

/** Longest time between keyframes that every platform takes, seconds. */
const LONGEST_KEYFRAME_INTERVAL = 4
/** Intervals are told by whole milliseconds, and encoders place keyframes to the frame. */
const INTERVAL_TOLERANCE = 0.1
/** A rate that is told over a few seconds swings: this much over a cap is no fault yet. */
const BITRATE_TOLERANCE = 1.1
/** Greatest step back within a track that a reordering encoder makes, milliseconds. */
const REORDERING_MS = 5

/** A step forward by this much more than the time that passed is a jump of the clock, milliseconds. */
const JUMP_MS = 2_000
/** Seconds. Viewers notice far less, but encoders interleave as loosely as that. */
const LARGEST_TRACK_OFFSET = 1

/** Codecs that every platform takes. */
const COMMON = { video: ['h264'], audio: ['aac'] }

/** A destination as the diagnosis sees it. */
export interface Patient {
  readonly id: string
  readonly rules: DestinationRules
}

/** Tracks that a publisher said it would send, before it sent anything. */
export interface AnnouncedTracks {
  readonly video: boolean
  readonly audio: boolean
}

interface Finding {
  readonly code: WarningCode
  readonly destinationId: string | null
  readonly message: string
  /** Something that happened rather than a state: told at once. */
  readonly once?: true
}

interface Case {
  finding: Finding
  firstSeen: number
  lastSeen: number
  /** ISO 8601; null while it has not held for long enough. */
  since: string | null
}

export interface Diagnosis {
  readonly raised: readonly MediaWarning[]
  readonly cleared: readonly MediaWarning[]
}

/**
 * Says in words what is wrong with what a publisher sends, for everybody and for single destinations. It is told of
 * every message, for a handful of additions, and asked about once a second; a finding has to hold before it is raised
 * and to be gone for longer before it is cleared, so that none flaps. Times are monotonic milliseconds.
 */
export class StreamDoctor {
  readonly #limits: DoctorLimits
  readonly #startedAt: number
  /** Tracks that were announced and of which nothing has come. */
  readonly #awaited: { audio: boolean; video: boolean }
  readonly #rhythm = new FrameRhythm()
  readonly #drift = new ClockDrift()
  readonly #trackOffset = new TrackOffset()
  readonly #cases = new Map<string, Case>()
  readonly #lastTimestamp = { audio: Number.NEGATIVE_INFINITY, video: Number.NEGATIVE_INFINITY }
  #lastAudioAt: number | null = null
  #lastVideoAt: number | null = null
  #videoCodec: string | null = null
  #audioCodec: string | null = null
  #hasKeyframe = false
  #lastKeyframe: number | null = null
  #interval: number | null = null
  #size: PictureSize | null = null
  #resizedAt = Number.NEGATIVE_INFINITY
  #resize = ''
  #pixelFormat: PixelFormat | null = null
  #channels: number | null = null
  #jump = ''
  #jumpedAt = Number.NEGATIVE_INFINITY
  #stepsBack = 0
  #steppedBackAt = Number.NEGATIVE_INFINITY
  #contests = 0
  #contestedAt = Number.NEGATIVE_INFINITY

  constructor(limits: DoctorLimits, now: number, announced: AnnouncedTracks = { video: false, audio: false }) {
    this.#limits = limits
    this.#awaited = { ...announced }
    this.#startedAt = now
  }

  /** Seconds between the last keyframes, or since the last one where that is longer already. */
  get keyframeInterval(): number | null {
    if (this.#lastKeyframe === null) return null
    const running = (this.#lastTimestamp.video - this.#lastKeyframe) / 1_000
    return this.#interval === null && running <= LONGEST_KEYFRAME_INTERVAL
      ? null
      : Math.max(this.#interval ?? 0, running)
  }

  /** Something of a track has come, though it may be a while until it can be passed on. */
  arrived(kind: 'audio' | 'video'): void {
    this.#awaited[kind] = false
  }

  /** Takes a message in at `now`; `timestamp` is its place on the publisher's line. */
  message({ codec, isFrame, isKeyframe, kind }: Classification, timestamp: number, now: number): void {
    if (kind === 'data') return
    if (kind === 'audio') this.#audioCodec = codec ?? this.#audioCodec
    else this.#videoCodec = codec ?? this.#videoCodec
    if (!isFrame) return
    this.arrived(kind)
    if (timestamp < this.#lastTimestamp[kind] - REORDERING_MS) this.steppedBack(now)
    else this.#noteJump(kind, timestamp, now)
    this.#drift.add(timestamp, now)
    this.#trackOffset.add(kind, timestamp, now)
    if (kind === 'audio') this.#lastAudioAt = now
    else {
      this.#rhythm.add(timestamp)
      this.#lastVideoAt = now
    }
    this.#lastTimestamp[kind] = timestamp
    if (!isKeyframe) return
    this.#hasKeyframe = true
    if (this.#lastKeyframe !== null) this.#interval = (timestamp - this.#lastKeyframe) / 1_000
    this.#lastKeyframe = timestamp
  }

  /** The publisher's clock jumped back. */
  steppedBack(now: number): void {
    this.#stepsBack += 1
    this.#steppedBackAt = now
    this.#restart()
  }

  /** A frame is further ahead of all before it than the time that passed: the publisher's clock has jumped. */
  #noteJump(kind: 'audio' | 'video', timestamp: number, now: number): void {
    // A track that is ahead of the other from its start on has not jumped.
    if (this.#lastTimestamp[kind] === Number.NEGATIVE_INFINITY) return
    const latest = Math.max(this.#lastTimestamp.audio, this.#lastTimestamp.video)
    const latestAt = Math.max(this.#lastAudioAt ?? now, this.#lastVideoAt ?? now)
    const jump = timestamp - latest - (now - latestAt)
    if (jump < JUMP_MS) return
    this.#jump = `The encoder's timestamps jumped forward by ${duration(jump)}. Check its clock and its source; players may stop.`
    this.#jumpedAt = now
    this.#restart()
    this.#lastKeyframe = this.#interval = null
  }

  /** What was measured on the publisher's clock says nothing any more. */
  #restart(): void {
    this.#drift.restart()
    this.#trackOffset.restart()
  }

  /** A video configuration says how colour is stored; null where it does not. */
  pixelFormat(format: PixelFormat | null): void {
    this.#pixelFormat = format
  }

  /** An audio configuration says how many channels there are; null where it does not. */
  soundForm(channels: number | null): void {
    this.#channels = channels
  }

  /** A video configuration says this size. */
  pictureSize(size: PictureSize, now: number): void {
    const before = this.#size
    this.#size = size
    if (before === null || (before.width === size.width && before.height === size.height)) return
    this.#resize = `The picture changed from ${shown(before)} to ${shown(size)}; platforms may drop the stream.`
    this.#resizedAt = now
  }

  /** Pictures come in one size and are passed on in another. */
  fitted(from: PictureSize, to: PictureSize, now: number): void {
    this.#resize = `The picture comes in as ${shown(from)} and goes out as ${shown(to)}, encoded anew.`
    this.#resizedAt = now
  }

  /** Another encoder uses the same key; they have cut each other off so many times lately. */
  contested(count: number, now: number): void {
    this.#contests = count
    this.#contestedAt = now
  }

  /** What holds now. */
  get warnings(): MediaWarning[] {
    return [...this.#cases.values()].flatMap((one) => (one.since === null ? [] : [warningOf(one, one.since)]))
  }

  /** Forgets all findings; returns those that had been told. */
  dismiss(): readonly MediaWarning[] {
    const { warnings } = this
    this.#cases.clear()
    return warnings
  }

  /** Looks at everything; returns what has changed since the last look. */
  examine(bitrate: number, patients: readonly Patient[], now: number, at: string): Diagnosis {
    const raised: MediaWarning[] = []
    const cleared: MediaWarning[] = []
    for (const finding of [...this.#general(now), ...patients.flatMap((patient) => this.#of(patient, bitrate))]) {
      const key = `${finding.code} ${finding.destinationId}`
      const one = this.#cases.get(key) ?? { finding, firstSeen: now, lastSeen: now, since: null }
      this.#cases.set(key, one)
      one.finding = finding
      one.lastSeen = now
      if (one.since !== null || (finding.once !== true && now - one.firstSeen < this.#limits.raiseMs)) continue
      one.since = at
      raised.push(warningOf(one, at))
    }
    for (const [key, one] of this.#cases) {
      const gone = now - one.lastSeen
      // What was never told is forgotten as soon as it does not hold; what was told has to stay away for a while.
      if (gone === 0 || (one.since !== null && one.finding.once !== true && gone < this.#limits.clearMs)) continue
      this.#cases.delete(key)
      if (one.since !== null) cleared.push(warningOf(one, one.since))
    }
    return { raised, cleared }
  }

  #general(now: number): Finding[] {
    const { rememberMs } = this.#limits
    const findings: Finding[] = []
    const find = (code: WarningCode, message: string, once?: true): void => {
      findings.push({ code, destinationId: null, message, ...(once ? { once } : {}) })
    }
    findings.push(...this.#missingTracks(now))
    if (isForeign(this.#videoCodec, COMMON.video)) {
      find('video_codec', `Video is ${this.#videoCodec}; only H.264 is taken by every platform.`)
    }
    if (isForeign(this.#audioCodec, COMMON.audio)) {
      find('audio_codec', `Audio is ${this.#audioCodec}; only AAC is taken by every platform.`)
    }
    const form = { videoCodec: this.#videoCodec, pixelFormat: this.#pixelFormat, channels: this.#channels }
    for (const { code, message } of unusualForms(form)) find(code, message)
    if (this.#lastVideoAt !== null && !this.#hasKeyframe) {
      find(
        'keyframe_missing',
        'Video comes in without a keyframe: nothing is shown before one comes. Set the encoder to one every 2 s.',
      )
    }
    const interval = this.keyframeInterval
    if (interval !== null && interval > LONGEST_KEYFRAME_INTERVAL + INTERVAL_TOLERANCE) {
      find('keyframe_interval', `Keyframes come every ${interval.toFixed(1)} s; set the encoder to 2 s.`)
    }
    if (this.#rhythm.isUneven) {
      find('frame_rate_varies', 'The frame rate varies; set the encoder to a constant one, or give it less to do.')
    }
    const drift = this.#drift.seconds
    if (drift !== null && Math.abs(drift) > 1) {
      const way = drift > 0 ? 'ahead of' : 'behind'
      find(
        'clock_drift',
        `Media runs ${Math.abs(drift).toFixed(1)} s ${way} the clock: the encoder cannot keep its pace.`,
      )
    }
    const offset = this.#trackOffset.seconds
    if (offset !== null && Math.abs(offset) > LARGEST_TRACK_OFFSET) {
      const way = offset > 0 ? 'ahead of' : 'behind'
      find(
        'audio_offset',
        `The timestamps of the sound are ${duration(Math.abs(offset) * 1_000)} ${way} those of the picture: they are shown out of step. Check the encoder's sync offset.`,
      )
    }
    if (now - this.#jumpedAt < rememberMs) find('timestamps_forward', this.#jump, true)
    if (now - this.#steppedBackAt < rememberMs) {
      find('timestamps_back', `The encoder's clock went back ${times(this.#stepsBack)}.`, true)
    }
    if (now - this.#resizedAt < rememberMs) {
      find('resolution_changed', this.#resize, true)
    }
    if (now - this.#contestedAt < rememberMs) {
      const message = `Two encoders use the same key: they have cut each other off ${times(this.#contests)} within a minute. Stop one of them, or give it the backup key.`
      find('key_contested', message, true)
    }
    return findings
  }

  #of({ id, rules }: Patient, bitrate: number): Finding[] {
    const { audioCodecs, maxBitrate, maxKeyframeIntervalSeconds: longest, name, videoCodecs } = rules
    const findings: Finding[] = []
    const find = (code: WarningCode, message: string): void => {
      findings.push({ code, destinationId: id, message })
    }
    if (isForeign(this.#videoCodec, videoCodecs)) {
      find('video_codec', `${name} does not take ${this.#videoCodec} video; it takes ${videoCodecs?.join(', ')}.`)
    }
    if (isForeign(this.#audioCodec, audioCodecs)) {
      find('audio_codec', `${name} does not take ${this.#audioCodec} audio; it takes ${audioCodecs?.join(', ')}.`)
    }
    if (maxBitrate !== null && bitrate > maxBitrate * BITRATE_TOLERANCE) {
      find('bitrate', `${kilobits(bitrate)} come in; ${name} takes at most ${kilobits(maxBitrate)}.`)
    }
    const interval = this.keyframeInterval
    if (longest !== null && interval !== null && interval > longest + INTERVAL_TOLERANCE) {
      find('keyframe_interval', `Keyframes come every ${interval.toFixed(1)} s; ${name} takes at most ${longest} s.`)
    }
    return findings
  }

  #missingTracks(now: number): Finding[] {
    const [video, audio] = [this.#lastVideoAt, this.#lastAudioAt]
    const findings: Finding[] = []
    if (this.#hasNotCome('video', now)) {
      const message = 'No video is coming in, although the encoder announced it. Check its camera and its encoder.'
      findings.push({ code: 'video_missing', destinationId: null, message, once: true })
    } else if (this.#isMissing(video, audio, now)) {
      findings.push({ code: 'video_missing', destinationId: null, message: 'No video is coming in.' })
    }
    const silent = 'some platforms refuse such a stream. Send silence where there is none.'
    if (this.#hasNotCome('audio', now)) {
      const message = `No audio is coming in, although the encoder announced it; ${silent}`
      findings.push({ code: 'audio_missing', destinationId: null, message, once: true })
    } else if (this.#isMissing(audio, video, now)) {
      findings.push({ code: 'audio_missing', destinationId: null, message: `No audio is coming in; ${silent}` })
    }
    return findings
  }

  /** Whether nothing at all has come of a track that was announced. */
  #hasNotCome(kind: 'audio' | 'video', now: number): boolean {
    return this.#awaited[kind] && now - this.#startedAt >= this.#limits.announcedPatienceMs
  }

  /** Whether one track is missing though the other comes: a publisher that sends nothing at all is dropped instead. */
  #isMissing(lastAt: number | null, otherAt: number | null, now: number): boolean {
    if (otherAt === null || (lastAt !== null && otherAt <= lastAt)) return false
    return now - (lastAt ?? this.#startedAt) > this.#limits.trackPatienceMs
  }
}

function warningOf({ finding }: Case, since: string): MediaWarning {
  const { code, destinationId, message } = finding
  return { code, destinationId, message, since }
}

function shown({ height, width }: PictureSize): string {
  return `${width}×${height}`
}

/** Seconds up to a minute, then hours and minutes. */
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
