import type { RelayMessage } from './relay-message.ts'

export interface OutputQueueLimits {
  /** Duration of queued video, milliseconds. */
  readonly maxMs: number
  /** Size of the queue, including bytes in the socket's buffer. */
  readonly maxBytes: number
  /** Duration of queued audio, milliseconds. Longer than for video, because viewers notice gaps in audio first. */
  readonly maxAudioMs: number
}

/**
 * The queue of one output. When it exceeds its limits, it drops video up to a keyframe, so that no GOP has a gap, and
 * keeps the audio. Configurations are always kept.
 */
export class OutputQueue {
  droppedVideo = 0
  droppedAudio = 0
  readonly #limits: OutputQueueLimits
  #messages: RelayMessage[] = []
  #head = 0
  #bytes = 0
  #awaitsKeyframe = true
  /** No video frame was sent on this connection yet. Frames before the first keyframe do not count as dropped. */
  #isStarting = true
  /** Messages up to this timestamp are the replay. The limit of the duration does not apply to them. */
  #replayUntil = -1

  constructor(limits: OutputQueueLimits) {
    this.#limits = limits
  }

  get length(): number {
    return this.#messages.length - this.#head
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Video is dropped until the next keyframe. */
  get awaitsKeyframe(): boolean {
    return this.#awaitsKeyframe
  }

  /** Time between the timestamps of the oldest and the newest message, milliseconds. */
  get durationMs(): number {
    return spanOf(this.#messages, this.#head)
  }

  /** Replaces the content for a new connection with the replay: configurations, and a GOP if there is one. */
  reset(replay: readonly RelayMessage[]): void {
    this.#messages = [...replay]
    this.#head = 0
    this.#bytes = bytesOf(replay)
    this.#awaitsKeyframe = !replay.some((message) => message.isKeyframe)
    this.#isStarting = this.#awaitsKeyframe
    this.#replayUntil = replay.at(-1)?.timestamp ?? -1
  }

  /**
   * Adds a message. `socketBytes` are bytes that were taken from the queue and are still in the socket's buffer.
   *
   * @returns whether something was dropped
   */
  push(message: RelayMessage, socketBytes: number): boolean {
    if (isVideoFrame(message) && this.#awaitsKeyframe) {
      if (!message.isKeyframe || !this.#hasRoom(socketBytes)) {
        if (this.#isStarting) return false
        this.droppedVideo += 1
        return true
      }
      this.#awaitsKeyframe = false
      this.#isStarting = false
    }
    this.#messages.push(message)
    this.#bytes += message.payload.length
    if (!this.#isOver(socketBytes)) return false
    this.#drop(socketBytes)
    return true
  }

  shift(): RelayMessage | undefined {
    const message = this.#messages[this.#head]
    if (message === undefined) return undefined
    this.#head += 1
    this.#bytes -= message.payload.length
    if (this.#head === this.#messages.length || this.#head > 1024) {
      this.#messages = this.#messages.slice(this.#head)
      this.#head = 0
    }
    return message
  }

  /** Uses half of each limit. With a nearly full queue, video would be dropped again at once. */
  #hasRoom(socketBytes: number): boolean {
    return this.durationMs <= this.#limits.maxMs / 2 && this.#bytes + socketBytes <= this.#limits.maxBytes / 2
  }

  #isOver(socketBytes: number): boolean {
    if (this.#bytes + socketBytes > this.#limits.maxBytes) return true
    const oldest = this.#messages[this.#head]
    if (oldest === undefined || oldest.timestamp <= this.#replayUntil) return false
    const duration = this.durationMs
    if (duration <= this.#limits.maxMs) return false
    if (duration > this.#limits.maxAudioMs) return true
    return spanOf(this.#messages.slice(this.#head).filter(isVideoFrame), 0) > this.#limits.maxMs
  }

  #drop(socketBytes: number): void {
    const queued = this.#messages.slice(this.#head)
    const keyframe = queued.findLastIndex((message) => message.isKeyframe)
    const tail = queued.filter((message, index) => !isVideoFrame(message) || (keyframe !== -1 && index >= keyframe))
    if (this.#fits(tail, socketBytes)) {
      this.#replace(tail, queued)
      return
    }
    this.#awaitsKeyframe = true
    const kept = queued.filter((message) => !isVideoFrame(message))
    const candidates = newestVideoConfiguration(kept)
    let from = 0
    let bytes = bytesOf(candidates) + socketBytes
    while (from < candidates.length) {
      const oldest = candidates[from]!
      if (spanOf(candidates, from) <= this.#limits.maxAudioMs && bytes <= this.#limits.maxBytes) break
      bytes -= oldest.payload.length
      from += 1
    }
    const configurations = candidates.slice(0, from).filter((message) => message.isSequenceHeader)
    this.#replace([...configurations, ...candidates.slice(from)], queued)
  }

  #fits(messages: readonly RelayMessage[], socketBytes: number): boolean {
    const frames = messages.filter(isVideoFrame)
    if (frames.length === 0) return false
    return (
      spanOf(frames, 0) <= this.#limits.maxMs / 2 &&
      spanOf(messages, 0) <= this.#limits.maxAudioMs &&
      bytesOf(messages) + socketBytes <= this.#limits.maxBytes / 2
    )
  }

  #replace(kept: RelayMessage[], queued: readonly RelayMessage[]): void {
    this.droppedVideo += count(queued, 'video') - count(kept, 'video')
    this.droppedAudio += count(queued, 'audio') - count(kept, 'audio')
    this.#messages = kept
    this.#head = 0
    this.#bytes = bytesOf(kept)
  }
}

function isVideoFrame(message: RelayMessage): boolean {
  return message.kind === 'video' && !message.isSequenceHeader
}

/** Removes all video configurations but the newest. The others have no frames left. */
function newestVideoConfiguration(messages: readonly RelayMessage[]): RelayMessage[] {
  const newest = messages.findLast((message) => message.kind === 'video')
  return messages.filter((message) => message.kind !== 'video' || message === newest)
}

function spanOf(messages: readonly RelayMessage[], from: number): number {
  const first = messages[from]
  const last = messages.at(-1)
  return first === undefined || last === undefined ? 0 : Math.max(0, last.timestamp - first.timestamp)
}

function bytesOf(messages: readonly RelayMessage[]): number {
  return messages.reduce((sum, message) => sum + message.payload.length, 0)
}

function count(messages: readonly RelayMessage[], kind: 'audio' | 'video'): number {
  return messages.filter((message) => message.kind === kind && !message.isSequenceHeader).length
}
