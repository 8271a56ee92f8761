/** What a host and a media node say to each other of files: those that are played, and those that are recorded. */

/** Files that are played as if a publisher sent them. */
export interface DesiredPlayout {
  readonly id: string
  /** Files on this machine, in order. */
  readonly items: readonly { readonly path: string }[]
  /** After the last file comes the first again. */
  readonly loop: boolean
  readonly paused: boolean
  /** Where it begins, or goes on when it is not running yet: place in the list, and milliseconds within that file. */
  readonly item: number
  readonly ms: number
  /** Another number than before: leave what is being played and go to `item` and `ms`. */
  readonly cue: number
}

/** What goes out is written into files. */
export interface DesiredRecording {
  /** Of the broadcast: another one is another recording. */
  readonly sessionId: string
  /** Path that the files' names begin with; what follows is `.<milliseconds since 1970>.mp4`. */
  readonly prefix: string
  /** A file ends with the first keyframe after this time. */
  readonly splitMs: number
  /**
   * What becomes of an outage. `cut` (the default): it is left out of all tracks. `slate`: the slate that viewers saw is
   * recorded, with its silence; where none was shown, or where it cannot continue the file, the outage is cut out.
   */
  readonly gaps?: 'cut' | 'slate'
}

/** How far a playout is. */
export interface PlayoutPosition {
  /** Place in the list of files. */
  readonly item: number
  /** Milliseconds since the beginning of that file. */
  readonly ms: number
  readonly cue: number
}

export type PlayoutEvent =
  /** Where a file really begins after a start or a change of place: at a keyframe, which may lie before what was asked. */
  | ({ readonly type: 'playout.began'; readonly streamId: string; readonly playoutId: string } & PlayoutPosition)
  /** How far files are played: when one begins, and about once a second. `cue` is the last that was heeded. */
  | ({ readonly type: 'playout.moved'; readonly streamId: string; readonly playoutId: string } & PlayoutPosition)
  /** A file could not be played and was left out. */
  | {
      readonly type: 'playout.skipped'
      readonly streamId: string
      readonly playoutId: string
      readonly item: number
      readonly message: string
    }
  /** The host was not heard for so long that another node may play it: it is not played on until it is wished for anew. */
  | { readonly type: 'playout.lapsed'; readonly streamId: string; readonly playoutId: string }
  /** Everything was played, or (`failed`) nothing of it can be. `relieved`: a publisher feeds the stream from here on. */
  | {
      readonly type: 'playout.ended'
      readonly streamId: string
      readonly playoutId: string
      readonly reason: 'finished' | 'failed'
      readonly message: string | null
      readonly relieved: boolean
    }

export type RecordingEvent =
  /** A file of a recording has begun, grows (about once a second), and is whole. */
  | { readonly type: 'recording.started'; readonly streamId: string; readonly path: string }
  | { readonly type: 'recording.progress'; readonly streamId: string; readonly path: string; readonly bytes: number }
  | {
      readonly type: 'recording.ended'
      readonly streamId: string
      readonly path: string
      /** Why it ended before its time. */
      readonly failure: string | null
    }
  /** Pictures (then nothing is recorded) or the sound are coded in a way that cannot be recorded. */
  | {
      readonly type: 'recording.refused'
      readonly streamId: string
      readonly kind: 'video' | 'audio'
      readonly message: string
    }
