import { nalType, type AccessUnit } from './h264-depacketizer.ts'

/** What a decoder must know before the pictures: an AVCDecoderConfigurationRecord (ISO/IEC 14496-15, 5.3.3.1). */
export interface AvcConfig {
  readonly record: Buffer
}

export interface AvcPicture {
  readonly timestamp: number
  readonly isKeyframe: boolean
  /** NAL units, each behind its length in four bytes, without parameter sets. */
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
/** Carried elsewhere, or meaningless in this container. */
const LEFT_OUT = new Set([SPS, PPS, DELIMITER, END_OF_SEQUENCE, END_OF_STREAM, FILLER])
const MOST_PPS = 32

/** Makes a stream that a decoder can follow from pictures as they come: configurations first, nothing that refers to what is missing. */
export class AvcTrack {
  readonly #onConfig: (config: AvcConfig) => void
  readonly #onPicture: (picture: AvcPicture) => void
  #sps: Buffer | null = null
  #pps: Buffer[] = []
  #sent: Buffer | null = null
  #awaitsKeyframe = true

  /** @param parameterSets from the session description (`sprop-parameter-sets`) */
  constructor(
    parameterSets: readonly Buffer[],
    onConfig: (config: AvcConfig) => void,
    onPicture: (picture: AvcPicture) => void,
  ) {
    this.#onConfig = onConfig
    this.#onPicture = onPicture
    for (const nal of parameterSets) this.#learn(nal)
  }

  /** Whether nothing can be passed on before the next keyframe. */
  get awaitsKeyframe(): boolean {
    return this.#awaitsKeyframe
  }

  /** A picture is missing: those after it refer to it. */
  lose(): void {
    this.#awaitsKeyframe = true
  }

  add({ nals, timestamp }: AccessUnit): void {
    for (const nal of nals) this.#learn(nal)
    const isKeyframe = nals.some((nal) => nalType(nal) === IDR)
    if (!isKeyframe && (this.#awaitsKeyframe || !nals.some((nal) => nalType(nal) === SLICE))) return
    if (isKeyframe && !this.#configure()) return
    this.#awaitsKeyframe = false
    this.#onPicture({ timestamp, isKeyframe, nals: nals.filter((nal) => !LEFT_OUT.has(nalType(nal))) })
  }

  #learn(nal: Buffer): void {
    const type = nal.length > 0 ? nalType(nal) : 0
    if (type === SPS && nal.length >= 4) {
      if (this.#sps?.equals(nal)) return
      this.#sps = Buffer.from(nal)
      this.#pps = []
    } else if (type === PPS && nal.length >= 2) {
      const id = ppsId(nal)
      const others = this.#pps.filter((pps) => ppsId(pps) !== id)
      this.#pps = [...others, Buffer.from(nal)].slice(-MOST_PPS)
    }
  }

  /** Tells the configuration where it is new; false as long as there is none. */
  #configure(): boolean {
    if (this.#sps === null || this.#pps.length === 0) return false
    const record = configurationRecord(this.#sps, this.#pps)
    if (!this.#sent?.equals(record)) {
      this.#sent = record
      this.#onConfig({ record })
    }
    return true
  }
}

/** pic_parameter_set_id, as far as it fits in the first two bytes: enough to tell one from another. */
function ppsId(pps: Buffer): number {
  const bits = ((pps[1] ?? 0) << 8) | (pps[2] ?? 0)
  const zeros = Math.clz32(bits) - 16
  return zeros > 7 ? -1 : (bits >> (15 - 2 * zeros)) - 1
}

function configurationRecord(sps: Buffer, pps: readonly Buffer[]): Buffer {
  return Buffer.concat([
    Buffer.of(1, sps[1]!, sps[2]!, sps[3]!, 0xff, 0xe1),
    sized(sps),
    Buffer.of(pps.length),
    ...pps.map(sized),
  ])
}

function sized(nal: Buffer): Buffer {
  return Buffer.concat([Buffer.of(nal.length >> 8, nal.length & 0xff), nal])
}

/** AVCVIDEOPACKET of the FLV specification (E.4.3.2), pictures in the order in which they are shown. */
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
