/** CanForward of Enhanced RTMP v2: the codec is relayed, but neither decoded nor encoded. */
const CAN_FORWARD = 4

/** The capabilities that our client and server announce with `connect`: every codec with a FourCC is forwarded. */
export const FORWARDED_CODECS = {
  fourCcList: ['avc1', 'hvc1', 'av01', 'vp09', 'vp08', 'mp4a', 'Opus', 'fLaC', 'ac-3', 'ec-3', '.mp3'],
  videoFourCcInfoMap: { '*': CAN_FORWARD },
  audioFourCcInfoMap: { '*': CAN_FORWARD },
}

const MOD_EX = 7

/** Reads the packet type of an Enhanced RTMP body, and the offset of its FourCC after any ModEx; null when truncated. */
export function enhancedStart(payload: Buffer): { readonly packetType: number; readonly offset: number } | null {
  let packetType = payload[0]! & 0x0f
  let offset = 1
  while (packetType === MOD_EX) {
    let size = (payload[offset++] ?? 0) + 1
    if (size === 256) {
      if (offset + 2 > payload.length) return null
      size = payload.readUInt16BE(offset) + 1
      offset += 2
    }
    offset += size
    const next = payload[offset++]
    if (next === undefined) return null
    packetType = next & 0x0f
  }
  return { packetType, offset }
}
