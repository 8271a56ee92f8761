import { nalType, type AccessUnit } from './h264-depacketizer.ts'

/** The decoder configuration: an AVCDecoderConfigurationRecord (ISO/IEC 14496-15, 5.3.3.1). */
export interface AvcConfig {
  readonly record: Buffer
}

export interface AvcFrame {
  /** Unwrapped RTP timestamp. */
  readonly timestamp: number
  readonly isKeyframe: boolean
  /** NAL units without parameter sets. */
  readonly nals: readonly Buffer[]
}

const SLICE = 1
const IDR = 5
const SPS = 7
const PPS = 8
const DELIMITER = 9
const END_OF_SEQUENCE = 10
const END_OF_STREAM = 11
const FILLER = 12
/** NAL units that the container carries elsewhere or does not need. */
const DROPPED_TYPES = new Set([SPS, PPS, DELIMITER, END_OF_SEQUENCE, END_OF_STREAM, FILLER])
const MAX_PPS = 32

/**
 * Turns access units into a decodable stream: the configuration comes first, and frames that refer to missing frames are
 * dropped.
 */
export class AvcTrack {
  readonly #onConfig: (config: AvcConfig) => void
  readonly #onFrame: (frame: AvcFrame) => void
  #sps: Buffer | null = null
  #pps: Buffer[] = []
  /** The last configuration passed to `onConfig`. */
  #sentRecord: Buffer | null = null
  #awaitsKeyframe = true

  /** @param parameterSets from the session description (`sprop-parameter-sets`) */
  constructor(
    parameterSets: readonly Buffer[],
    onConfig: (config: AvcConfig) => void,
    onFrame: (frame: AvcFrame) => void,
  ) {
    this.#onConfig = onConfig
    this.#onFrame = onFrame
    for (const nal of parameterSets) this.#storeParameterSet(nal)
  }

  /** Whether frames are dropped until the next keyframe. */
  get awaitsKeyframe(): boolean {
    return this.#awaitsKeyframe
  }

  /** A frame is missing. The following frames refer to it, so they are dropped until the next keyframe. */
  dropUntilKeyframe(): void {
    this.#awaitsKeyframe = true
  }

  add({ nals, timestamp }: AccessUnit): void {
    for (const nal of nals) this.#storeParameterSet(nal)
    const isKeyframe = nals.some((nal) => nalType(nal) === IDR)
    if (!isKeyframe && (this.#awaitsKeyframe || !nals.some((nal) => nalType(nal) === SLICE))) return
    if (isKeyframe && !this.#sendConfig()) return
    this.#awaitsKeyframe = false
    this.#onFrame({ timestamp, isKeyframe, nals: nals.filter((nal) => !DROPPED_TYPES.has(nalType(nal))) })
  }

  #storeParameterSet(nal: Buffer): void {
    const type = nal.length > 0 ? nalType(nal) : 0
    if (type === SPS && nal.length >= 4) {
      if (this.#sps?.equals(nal)) return
      this.#sps = Buffer.from(nal)
      this.#pps = []
    } else if (type === PPS && nal.length >= 2) {
      const id = ppsId(nal)
      const others = this.#pps.filter((pps) => ppsId(pps) !== id)
      this.#pps = [...others, Buffer.from(nal)].slice(-MAX_PPS)
    }
  }

  /** Sends the configuration if it has changed. Returns false if parameter sets are missing. */
  #sendConfig(): boolean {
    if (this.#sps === null || this.#pps.length === 0) return false
    const record = configurationRecord(this.#sps, this.#pps)
    if (!this.#sentRecord?.equals(record)) {
      this.#sentRecord = record
      this.#onConfig({ record })
    }
    return true
  }
}

/** pic_parameter_set_id, read from the two bytes after the NAL header. -1 if it is longer. */
function ppsId(pps: Buffer): number {
  const bits = ((pps[1] ?? 0) << 8) | (pps[2] ?? 0)
  const zeros = Math.clz32(bits) - 16
  return zeros > 7 ? -1 : (bits >> (15 - 2 * zeros)) - 1
}

function configurationRecord(sps: Buffer, pps: readonly Buffer[]): Buffer {
  return Buffer.concat([
    Buffer.of(1, sps[1]!, sps[2]!, sps[3]!, 0xff, 0xe1),
    lengthPrefixed(sps),
    Buffer.of(pps.length),
    ...pps.map(lengthPrefixed),
  ])
}

function lengthPrefixed(nal: Buffer): Buffer {
  return Buffer.concat([Buffer.of(nal.length >> 8, nal.length & 0xff), nal])
}

/** The FLV tag body of a frame (AVCVIDEOPACKET, E.4.3.2), with composition time 0. */
export function avcTagBody(isKeyframe: boolean, nals: readonly Buffer[]): Buffer {
  const body = Buffer.allocUnsafe(5 + nals.reduce((sum, nal) => sum + 4 + nal.length, 0))
  body.set([isKeyframe ? 0x17 : 0x27, 1, 0, 0, 0])
  let offset = 5
  for (const nal of nals) {
    offset = body.writeUInt32BE(nal.length, offset)
    offset += nal.copy(body, offset)
  }
  return body
}
