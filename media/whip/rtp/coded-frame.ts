/** One coded picture, whole. */
export interface CodedFrame {
  /** RTP timestamp on a line. */
  readonly timestamp: number
  readonly isKeyframe: boolean
}

export const MOST_FRAME_BYTES = 8 * 1024 * 1024
