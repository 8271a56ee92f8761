/** A complete coded frame. */
export interface CodedFrame {
  /** Unwrapped RTP timestamp. */
  readonly timestamp: number
  readonly isKeyframe: boolean
}

export const MAX_FRAME_BYTES = 8 * 1024 * 1024
