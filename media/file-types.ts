/** What a host and a media node exchange about files: playout and recording. */

/** Files that are played as if a publisher sent them. */
export interface DesiredPlayout {
  readonly id: string
  /** Files on this machine, in order. */
  readonly items: readonly { readonly path: string }[]
  /** Whether to start again with the first file after the last one. */
  readonly loop: boolean
  readonly paused: boolean
  /** Start position while the playout is not running: index in the list, and milliseconds within that file. */
  readonly item: number
  readonly ms: number
  /** A changed number makes a running playout seek to `item` and `ms`. */
  readonly cue: number
}

/** Records what is relayed to files. */
export interface DesiredRecording {
  /** Id of the broadcast. Each broadcast has its own recording. */
  readonly sessionId: string
  /** Path prefix of the files. `.<milliseconds since 1970>.mp4` is appended. */
  readonly prefix: string
  /** A new file starts at the first keyframe after this time. */
  readonly splitMs: number
  /**
   * How an outage is recorded. `cut` (the default): it is cut out of all tracks. `slate`: the slate that viewers saw is
   * recorded, with its silence. If no slate was shown, or if it cannot continue the file, the outage is cut out.
   */
  readonly gaps?: 'cut' | 'slate'
}

/** The position of a playout. */
export interface PlayoutPosition {
  /** Index in the list of files. */
  readonly item: number
  /** Milliseconds from the start of that file. */
  readonly ms: number
  readonly cue: number
}

export type PlayoutEvent =
  /** The actual position after a start or a seek. It is a keyframe, so it can be earlier than the requested position. */
  | ({ readonly type: 'playout.began'; readonly streamId: string; readonly playoutId: string } & PlayoutPosition)
  /** The current position: sent when a file starts, and about once a second. `cue` is the last one that was applied. */
  | ({ readonly type: 'playout.moved'; readonly streamId: string; readonly playoutId: string } & PlayoutPosition)
  /** A file could not be played and was skipped. */
  | {
      readonly type: 'playout.skipped'
      readonly streamId: string
      readonly playoutId: string
      readonly item: number
      readonly message: string
    }
  /** The host has not responded for so long that another node may play the files. Playout stops until the host applies it again. */
  | { readonly type: 'playout.lapsed'; readonly streamId: string; readonly playoutId: string }
  /** All files were played, or (`failed`) none of them can be. `relieved`: a publisher feeds the stream from now on. */
  | {
      readonly type: 'playout.ended'
      readonly streamId: string
      readonly playoutId: string
      readonly reason: 'finished' | 'failed'
      readonly message: string | null
      readonly relieved: boolean
    }

export type RecordingEvent =
  /** A file of a recording was started, has grown (about once a second), or is complete. */
  | { readonly type: 'recording.started'; readonly streamId: string; readonly path: string }
  | { readonly type: 'recording.progress'; readonly streamId: string; readonly path: string; readonly bytes: number }
  | {
      readonly type: 'recording.ended'
      readonly streamId: string
      readonly path: string
      /** Why it ended early. Null when it did not. */
      readonly failure: string | null
    }
  /** The codec of the video or the audio cannot be recorded. Without video nothing is recorded. */
  | {
      readonly type: 'recording.refused'
      readonly streamId: string
      readonly kind: 'video' | 'audio'
      readonly message: string
    }
