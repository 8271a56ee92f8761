import type { RelayMessage } from './relay-message.ts'

export interface OutputQueueLimits {
  /** Media time of waiting video, milliseconds. */
  readonly maxMs: number
  /** Everything waiting, what the socket holds included. */
  readonly maxBytes: number
  /** Media time of waiting audio, milliseconds; more than for video, because a gap in sound is what people notice first. */
  readonly maxAudioMs: number
}

/**
 * What waits for one output that does not keep up. Beyond its limits it leaves out video up to a keyframe, never a
 * part of a group, and keeps the audio; configurations are kept always.
 */
export class OutputQueue {
  droppedVideo = 0
  droppedAudio = 0
  readonly #limits: OutputQueueLimits
  #messages: RelayMessage[] = []
  #head = 0
  #bytes = 0
  #awaitsKeyframe = true
  /** No picture was sent on this connection yet: waiting for the first keyframe leaves nothing out. */
  #starting = true
  /** Messages up to this position were put in as a replay: they are late on purpose, so time does not count. */
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

  /** Video is left out until the next keyframe. */
  get awaitsKeyframe(): boolean {
    return this.#awaitsKeyframe
  }

  /** Media time between the oldest and the newest message, milliseconds. */
  get durationMs(): number {
    return spanOf(this.#messages, this.#head)
  }

  /** Empties the queue for a new connection and puts the replay in: configurations and a group, or no group. */
  reset(replay: readonly RelayMessage[]): void {
    this.#messages = [...replay]
    this.#head = 0
    this.#bytes = bytesOf(replay)
    this.#awaitsKeyframe = !replay.some((message) => message.isKeyframe)
    this.#starting = this.#awaitsKeyframe
    this.#replayUntil = replay.at(-1)?.timestamp ?? -1
  }

  /**
   * Adds a message. `heldBySocket` are the bytes that were taken out and are not with the kernel yet.
   *
   * @returns whether something was left out.
   */
  push(message: RelayMessage, heldBySocket: number): boolean {
    if (isPicture(message) && this.#awaitsKeyframe) {
      if (!message.isKeyframe || !this.#hasRoom(heldBySocket)) {
        if (this.#starting) return false
        this.droppedVideo += 1
        return true
      }
      this.#awaitsKeyframe = false
      this.#starting = false
    }
    this.#messages.push(message)
    this.#bytes += message.payload.length
    if (!this.#isOver(heldBySocket)) return false
    this.#shed(heldBySocket)
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

  /** Half of each limit: video that comes back at the brim would only be left out again. */
  #hasRoom(heldBySocket: number): boolean {
    return this.durationMs <= this.#limits.maxMs / 2 && this.#bytes + heldBySocket <= this.#limits.maxBytes / 2
  }

  #isOver(heldBySocket: number): boolean {
    if (this.#bytes + heldBySocket > this.#limits.maxBytes) return true
    const oldest = this.#messages[this.#head]
    if (oldest === undefined || oldest.timestamp <= this.#replayUntil) return false
    const duration = this.durationMs
    if (duration <= this.#limits.maxMs) return false
    if (duration > this.#limits.maxAudioMs) return true
    return spanOf(this.#messages.slice(this.#head).filter(isPicture), 0) > this.#limits.maxMs
  }

  #shed(heldBySocket: number): void {
    const waiting = this.#messages.slice(this.#head)
    const keyframe = waiting.findLastIndex((message) => message.isKeyframe)
    const tail = waiting.filter((message, index) => !isPicture(message) || (keyframe !== -1 && index >= keyframe))
    if (this.#fits(tail, heldBySocket)) {
      this.#keep(tail, waiting)
      return
    }
    this.#awaitsKeyframe = true
    const kept = waiting.filter((message) => !isPicture(message))
    const held = newestVideoConfiguration(kept)
    let from = 0
    let bytes = bytesOf(held) + heldBySocket
    while (from < held.length) {
      const oldest = held[from]!
      if (spanOf(held, from) <= this.#limits.maxAudioMs && bytes <= this.#limits.maxBytes) break
      bytes -= oldest.payload.length
      from += 1
    }
    const configurations = held.slice(0, from).filter((message) => message.isHeader)
    this.#keep([...configurations, ...held.slice(from)], waiting)
  }

  #fits(messages: readonly RelayMessage[], heldBySocket: number): boolean {
    const pictures = messages.filter(isPicture)
    if (pictures.length === 0) return false
    return (
      spanOf(pictures, 0) <= this.#limits.maxMs / 2 &&
      spanOf(messages, 0) <= this.#limits.maxAudioMs &&
      bytesOf(messages) + heldBySocket <= this.#limits.maxBytes / 2
    )
  }

  #keep(kept: RelayMessage[], waiting: readonly RelayMessage[]): void {
    this.droppedVideo += count(waiting, 'video') - count(kept, 'video')
    this.droppedAudio += count(waiting, 'audio') - count(kept, 'audio')
    this.#messages = kept
    this.#head = 0
    this.#bytes = bytesOf(kept)
  }
}

function isPicture(message: RelayMessage): boolean {
  return message.kind === 'video' && !message.isHeader
}

/** Of several video configurations only the newest says anything once the pictures between them are gone. */
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
  return messages.filter((message) => message.kind === kind && !message.isHeader).length
}
