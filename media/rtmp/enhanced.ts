/** CanForward of Enhanced RTMP v2: handed on as it is, neither decoded nor encoded. */
const CAN_FORWARD = 4

/** What both ends of ours say in or after `connect`: every codec that has a FourCC is forwarded. */
export const FORWARDED = {
  fourCcList: ['avc1', 'hvc1', 'av01', 'vp09', 'vp08', 'mp4a', 'Opus', 'fLaC', 'ac-3', 'ec-3', '.mp3'],
  videoFourCcInfoMap: { '*': CAN_FORWARD },
  audioFourCcInfoMap: { '*': CAN_FORWARD },
}
